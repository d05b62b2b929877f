import type { Pool } from 'pg'

/** A run that is terminated before its first attempt is found out after this. */
const firstCheckSeconds = 15

/**
 * Notes that the workflows of these tasks exist. A task that is processing already has a date for its
 * next look of its own.
 */
export function createMarkStarted(deps: { readonly pool: Pool }) {
  return async (taskIds: readonly string[]): Promise<void> => {
    if (taskIds.length === 0) return
    await deps.pool.query({
      name: 'mark-started',
      text: markSql,
      values: [taskIds, firstCheckSeconds],
    })
  }
}

/** Rows are taken in one order by everybody, so that two batches never wait for each other in a ring. */
const markSql = `
  with marked as (
    select task_id from task
    where task_id = any($1) and started_at is null and status in ('queued', 'processing')
    order by task_id for update
  )
  update task set started_at = now(), checks = 0,
    next_check_at = case when status = 'queued'
      then least(deadline_at, now() + $2 * interval '1 second') else next_check_at end
  from marked where task.task_id = marked.task_id`
