import type { Pool, PoolClient, QueryConfig, QueryResultRow } from 'pg'
import { DatabaseError } from 'pg'

type TransactionOptions = {
  readonly isolation?: 'read committed' | 'repeatable read read only'
}

/**
 * How many times a transaction or statement is tried when it meets deadlocks or serialization failures.
 */
const attemptsMax = 5

/**
 * Runs the work in one transaction and commits. Runs the work again after a deadlock or a serialization
 * failure, so the work must be safe to repeat. A throw rolls back; work that must roll back without an
 * error returns `rollback(value)`.
 */
export async function withTransaction<Value>(
  pool: Pool,
  work: (client: PoolClient) => Promise<Value | Rollback<Value>>,
  options: TransactionOptions = {},
): Promise<Value> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await runOnce(pool, work, options.isolation ?? 'read committed')
    } catch (error) {
      if (attempt >= attemptsMax || !isRetryable(error)) throw error
    }
  }
}

/** The value of a transaction that is rolled back. */
type Rollback<Value> = { readonly [rolledBack]: true; readonly value: Value }

/** Makes `withTransaction` roll back and return `value`. */
export function rollback<Value>(value: Value): Rollback<Value> {
  return { [rolledBack]: true, value }
}

const rolledBack = Symbol('rolledBack')

async function runOnce<Value>(
  pool: Pool,
  work: (client: PoolClient) => Promise<Value | Rollback<Value>>,
  isolation: string,
): Promise<Value> {
  const client = await pool.connect()
  let broken = false
  try {
    await client.query(`begin isolation level ${isolation}`)
    const answer = await work(client)
    if (isRollback(answer)) {
      await client.query('rollback')
      return answer.value
    }
    await client.query('commit')
    return answer
  } catch (error) {
    // A connection that cannot roll back is closed: the server rolls back when it ends.
    await client.query('rollback').catch(() => {
      broken = true
    })
    throw error
  } finally {
    client.release(broken)
  }
}

function isRollback<Value>(answer: Value | Rollback<Value>): answer is Rollback<Value> {
  return typeof answer === 'object' && answer !== null && rolledBack in answer
}

/**
 * Runs one statement, which is a transaction of its own, and runs it again after a deadlock. For
 * statements that report an expected outcome as an error: `pool.query` closes the connection after an
 * error, this function keeps it.
 */
export async function runStatement<Row extends QueryResultRow>(
  pool: Pool,
  query: QueryConfig,
): Promise<readonly Row[]> {
  for (let attempt = 1; ; attempt += 1) {
    const client = await pool.connect()
    let broken = false
    try {
      return (await client.query<Row>(query)).rows
    } catch (error) {
      broken = !(error instanceof DatabaseError)
      if (attempt >= attemptsMax || !isRetryable(error)) throw error
    } finally {
      client.release(broken)
    }
  }
}

/**
 * SQLSTATEs of a serialization failure and a deadlock: the same work can succeed when it runs again.
 */
const retryableStates = new Set(['40001', '40P01'])

function isRetryable(error: unknown): boolean {
  return error instanceof DatabaseError && retryableStates.has(error.code ?? '')
}
