import type { Pool } from 'pg'

/**
 * Live tasks to which no worker may bring anything more: past the deadline with no attempt open, or past
 * the hard end (design 1.10). Every writer of `next_check_at` keeps it at or before these moments;
 * but behind a call that ended past the deadline it may be half a minute later (`closeAttempt.ts`).
 */
export function createPastEndTasks(deps: { readonly pool: Pool }) {
  return async (limit: number): Promise<readonly string[]> => {
    const { rows } = await deps.pool.query<{ taskId: string }>({
      name: 'past-end-tasks',
      text: `select task_id as "taskId" from task
        where status in ('queued', 'processing') and next_check_at <= now()
          and deadline_at <= now()
          and (hard_end_at <= now() or not exists (
            select from attempt where attempt.task_id = task.task_id and closed_at is null))
        order by next_check_at limit $1`,
      values: [limit],
    })
    return rows.map(({ taskId }) => taskId)
  }
}
