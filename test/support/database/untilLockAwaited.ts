import type { Pool } from 'pg'
import { until } from '../timing.ts'

/** Resolves when so many sessions of this database wait for a lock that another session has. */
export async function untilLockAwaited(pool: Pool, sessions = 1): Promise<void> {
  await until('a session that waits for a lock', async () => {
    const { rowCount } = await pool.query(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    )
    return rowCount === sessions ? true : undefined
  })
}
