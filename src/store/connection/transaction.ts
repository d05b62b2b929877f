import type { Pool, PoolClient, QueryConfig, QueryResultRow } from 'pg'
import { DatabaseError } from 'pg'
import { NothingWrittenError } from '../../domain/nothingWrittenError.ts'

/** Limit for the tries of a transaction or statement that meets deadlocks or serialization failures. */
const triesMax = 5

/**
 * Runs the work in one transaction and commits it. If the work throws, the transaction is rolled back. After a
 * deadlock or a serialization failure the work runs again in a new transaction, so its effects outside of PostgreSQL
 * must be safe to repeat.
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
      // If the rollback fails, close the connection. PostgreSQL then rolls back.
      await client.query('rollback').catch(() => {
        broken = true
      })
      if (attempt >= triesMax || !isRetryable(error)) throw error
    } finally {
      client.release(broken)
    }
  }
}

/**
 * Runs one statement. With a client it is part of that client's transaction, which must be run again after the errors
 * below. With a pool it is its own transaction. Runs it again after a deadlock or a serialization failure. Use
 * this for a statement that reports an expected outcome as an error: `pool.query` closes its connection after an
 * error, but this function keeps the connection. Throws `NothingWrittenError` when it gets no connection, and after
 * the errors of `takenBackStates`. Throws every other error as it is.
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
      broken = !(error instanceof DatabaseError)
      if (isRetryable(error) && attempt < triesMax) continue
      throw isTakenBack(error) ? new NothingWrittenError(error) : error
    } finally {
      client.release(broken)
    }
  }
}

/**
 * The SQLSTATEs of a serialization failure and a deadlock. After them, the same work can succeed when it runs
 * again.
 */
const retryableStates = new Set(['40001', '40P01'])

/** The end of a task met a webhook whose row was deleted after the statement began. The next one does not see it. */
const deletedWebhook = 'webhook_delivery_webhook_id_fkey'

function isRetryable(error: unknown): boolean {
  if (!(error instanceof DatabaseError)) return false
  return retryableStates.has(error.code ?? '') || error.constraint === deletedWebhook
}

/**
 * The SQLSTATEs of errors after which two things are true: the statement had no effect, and the same statement can
 * succeed later. Besides the retryable errors these are: a lock timeout (55P03), a statement timeout (57014), a lack
 * of resources, disk or memory (53…), and a server that only reads since a failover (25006). The end of a connection
 * (57P01) is not among them, because it does not say whether the transaction was committed.
 */
const takenBackStates = new Set([
  ...retryableStates,
  '55P03',
  '57014',
  '53000',
  '53100',
  '53200',
  '53400',
  '25006',
])

function isTakenBack(error: unknown): boolean {
  return error instanceof DatabaseError && takenBackStates.has(error.code ?? '')
}
