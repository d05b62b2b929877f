import { DatabaseError } from 'pg'
import type { Pool, QueryConfig, QueryResultRow } from 'pg'
import { isMomentary } from './isMomentary.ts'

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
