import type { Pool } from 'pg'
import type { AttemptName } from '../domain/attemptStore.ts'

/**
 * Notes that these attempts' worker lives. One that is closed, or gone, is left as it is; so is one whose
 * row is locked, lest all the others wait for it.
 */
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
  with present as materialized (
    select attempt.task_id, attempt.n
    from attempt join unnest($1::text[], $2::integer[]) as named (task_id, n) using (task_id, n)
    where closed_at is null
    for update of attempt skip locked
  )
  update attempt set seen_at = clock_timestamp()
  from present where attempt.task_id = present.task_id and attempt.n = present.n`
