/**
 * SQL that makes a transaction wait at its commit until everything that was committed before its snapshot is safe on
 * disk, also what was committed with `synchronous_commit = off`. With synchronous standbys, it waits for them as every
 * commit does. It writes an empty message to the write-ahead log, which PostgreSQL writes in order.
 *
 * Use it in a statement that also reads the row in question. The row may have been lost in a crash since its commit,
 * and a pooler hides the crash.
 */
export const flushSql = `pg_logical_emit_message(true, 'darkroom', '')`
