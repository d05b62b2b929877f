import type { Pool } from 'pg'
import type { PastEndTask } from '../domain/reconcileStore.ts'

/**
 * Live tasks to which no worker may bring anything more: past the deadline with no attempt open, or past
 * the hard end (design 1.10). Every writer of `next_check_at` keeps it at or before these moments;
 * but behind a call that ended past the deadline it may be half a minute later (`closeAttempt.ts`). Beyond
 * the hard end only a look that could not end the task puts it.
 */
export function createPastEndTasks(deps: { readonly pool: Pool }) {
  return async (limit: number, patienceMs: number): Promise<readonly PastEndTask[]> => {
    const { rows } = await deps.pool.query<PastEndTask>({
      name: 'past-end-tasks',
      text: `select task_id as "taskId",
          hard_end_at + $2::float8 * interval '1 millisecond' <= now()
            and next_check_at > hard_end_at as "patienceOver"
        from task
        where status in ('queued', 'processing') and next_check_at <= now()
          and deadline_at <= now()
          and (hard_end_at <= now() or not exists (
            select from attempt where attempt.task_id = task.task_id and closed_at is null))
        order by next_check_at limit $1`,
      values: [limit, patienceMs],
    })
    return rows
  }
}
