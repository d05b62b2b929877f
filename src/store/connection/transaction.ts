import type { Pool, PoolClient, QueryConfig, QueryResultRow } from 'pg'
import { DatabaseError } from 'pg'
import { NothingWrittenError } from '../../domain/nothingWrittenError.ts'
import {
  isConnectionUseless,
  isRetryable,
  isTakenBack,
  isUselessWithoutEffect,
} from './sqlStates.ts'

/** Limit for the tries of a transaction or statement that meets deadlocks or serialization failures. */
const triesMax = 5
/**
 * Limit for the tries on different connections. Low, because each opens a connection when the server only reads, and
 * such a server is in trouble already.
 */
const connectionsMax = 2

/**
 * Runs the work in one transaction and commits it. If the work throws, the transaction is rolled back. After a
 * deadlock, a serialization failure or an error of the connection alone the work runs again in a new transaction, so its
 * effects outside of PostgreSQL must be safe to repeat.
 */
export async function withTransaction<Value>(
  pool: Pool,
  work: (client: PoolClient) => Promise<Value>,
  isolation: 'read committed' | 'repeatable read read only' = 'read committed',
): Promise<Value> {
  for (let attempt = 1; ; attempt += 1) {
    const client = await pool.connect()
    let broken = false
    try {
      await client.query(`begin isolation level ${isolation}`)
      const value = await work(client)
      await client.query('commit')
      return value
    } catch (error) {
      broken = isConnectionUseless(error)
      closeOthers(pool, error)
      // If the rollback fails, close the connection. PostgreSQL then rolls back.
      await client.query('rollback').catch(() => {
        broken = true
      })
      if (!runsAgain(error, attempt)) throw error
    } finally {
      client.release(broken)
    }
  }
}

/**
 * Runs one statement. With a client it is part of that client's transaction, which must be run again after the errors
 * below. With a pool it is its own transaction. Runs it again as `withTransaction` does. Use
 * this for a statement that reports an expected outcome as an error: `pool.query` closes its connection after an
 * error, but this function keeps the connection. Throws `NothingWrittenError` when it gets no connection, and after
 * the errors of `isTakenBack`. Throws every other error as it is.
 */
export async function runStatement<Row extends QueryResultRow>(
  pool: Pool | PoolClient,
  query: QueryConfig,
): Promise<readonly Row[]> {
  if ('release' in pool) return (await pool.query<Row>(query)).rows
  for (let attempt = 1; ; attempt += 1) {
    const client = await pool.connect().catch((error: unknown) => {
      throw new NothingWrittenError(error)
    })
    let broken = false
    try {
      const { rows } = await client.query<Row>(query)
      return rows
    } catch (error) {
      broken = !(error instanceof DatabaseError) || isConnectionUseless(error)
      closeOthers(pool, error)
      if (runsAgain(error, attempt)) continue
      throw isTakenBack(error) ? new NothingWrittenError(error) : error
    } finally {
      client.release(broken)
    }
  }
}

function runsAgain(error: unknown, attempt: number): boolean {
  if (isUselessWithoutEffect(error)) return attempt < connectionsMax
  return isRetryable(error) && attempt < triesMax
}

/**
 * Closes the idle connections of a pool after an error that only a new connection can avoid: they were opened at the same
 * time, most likely. A read on one of them would never fail, and might come from a server that is the writer no more.
 */
function closeOthers(pool: Pool, error: unknown): void {
  if (!isUselessWithoutEffect(error)) return
  for (let idle = pool.idleCount; idle > 0; idle -= 1) {
    // An idle connection is given at once, and before any that is asked for later.
    void pool.connect().then(
      (client) => client.release(true),
      () => {},
    )
  }
}
