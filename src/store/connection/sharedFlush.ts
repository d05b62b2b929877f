import type { Pool } from 'pg'
import { joinQueries } from './joinQueries.ts'

/**
 * Waits until everything that was committed before is safe on disk, also what was committed with
 * `synchronous_commit = off`. With standbys, waits for them as every commit does.
 */
export type Flush = () => Promise<void>

/** Creates the function. Calls at about the same time wait for the same commit. */
export function createSharedFlush(pool: Pool): Flush {
  const flush = joinQueries(async (callers: readonly 'flush'[]) => {
    await pool.query({ name: 'flush', text: flushSql })
    return callers
  })
  return async () => {
    await flush('flush')
  }
}

/**
 * Writes an empty message to the write-ahead log, which nobody reads. PostgreSQL writes the log in order, so the commit
 * of this statement waits for all commits before it.
 */
const flushSql = `select pg_logical_emit_message(true, 'darkroom', '')`
