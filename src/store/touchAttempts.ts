import type { Pool } from 'pg'
import type { AttemptName } from '../domain/attemptStore.ts'

/** Notes that these attempts' worker lives. One that is closed, or gone, is left as it is. */
export function createTouchAttempts({ pool }: { readonly pool: Pool }) {
  return async (attempts: readonly AttemptName[]): Promise<void> => {
    await pool.query({
      name: 'touch-attempts',
      text: touchSql,
      values: [attempts.map(({ taskId }) => taskId), attempts.map(({ n }) => n)],
    })
  }
}

const touchSql = `
  update attempt set seen_at = clock_timestamp()
  from unnest($1::text[], $2::integer[]) as present (task_id, n)
  where attempt.task_id = present.task_id and attempt.n = present.n and attempt.closed_at is null`
