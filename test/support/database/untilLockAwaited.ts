import type { Pool } from 'pg'
import { until } from '../timing.ts'

/** Resolves when a session of this database waits for a lock that another session has. */
export async function untilLockAwaited(pool: Pool): Promise<void> {
  await until('a session that waits for a lock', async () => {
    const { rowCount } = await pool.query(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    )
    return rowCount === 1 ? true : undefined
  })
}
