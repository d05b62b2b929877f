import type { Pool, PoolClient, QueryConfig, QueryResultRow } from 'pg'
import { DatabaseError } from 'pg'

type TransactionOptions = {
  readonly isolation?: 'read committed' | 'repeatable read read only'
  /** How often the work is begun at most; it must be safe to run again. Default 5. */
  readonly attemptsMax?: number
}

/**
 * Runs the work in one transaction, again after a serialization failure or a deadlock. A throw rolls
 * back; work that wants to roll back without an error answers `rollback(value)`.
 */
export async function withTransaction<Value>(
  pool: Pool,
  work: (client: PoolClient) => Promise<Value | Rollback<Value>>,
  options: TransactionOptions = {},
): Promise<Value> {
  const attemptsMax = options.attemptsMax ?? 5
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await runOnce(pool, work, options.isolation ?? 'read committed')
    } catch (error) {
      if (attempt >= attemptsMax || !isMomentary(error)) throw error
    }
  }
}

/** The answer of a transaction that is to leave no trace. */
type Rollback<Value> = { readonly [rolledBack]: true; readonly value: Value }

/** Wraps the answer of work that rolls back without an error. */
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
    // A connection that cannot even roll back is thrown away: the server rolls back by itself.
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

const attemptsMax = 5

/**
 * Runs one statement, which is a transaction of its own, again after a deadlock. Unlike `pool.query` it
 * keeps the connection when the server refuses: for statements whose refusal is an expected answer.
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
      if (attempt >= attemptsMax || !isMomentary(error)) throw error
    } finally {
      client.release(broken)
    }
  }
}

/** 40001 and 40P01: nothing is wrong but the moment (research reliability.md section 1). */
const momentary = new Set(['40001', '40P01'])

/** A serialization failure or a deadlock: the same work may be begun again. */
function isMomentary(error: unknown): boolean {
  return error instanceof DatabaseError && momentary.has(error.code ?? '')
}
