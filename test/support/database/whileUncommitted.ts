import type { Pool } from 'pg'
import { until } from '../timing.ts'

/**
 * Runs a statement in a transaction that commits only when `during` waits for a lock of it, and `meanwhile` is done.
 * Returns what `during` returns.
 */
export async function whileUncommitted<Value>(
  pool: Pool,
  [text, ...values]: readonly [string, ...unknown[]],
  during: () => Promise<Value>,
  meanwhile: () => Promise<unknown> = async () => {},
): Promise<Value> {
  const client = await pool.connect()
  await client.query('begin')
  await client.query(text, values)
  const result = during()
  await until('a session that waits for a lock', async () => {
    const { rowCount } = await pool.query(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    )
    return rowCount === 1 ? true : undefined
  })
  await meanwhile()
  await client.query('commit')
  client.release()
  return result
}
