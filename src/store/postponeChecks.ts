import type { Pool } from 'pg'
import type { Backoff } from '../domain/reconcileStore.ts'

/** Looks at live rows again later, each time after twice as long, but never past their next end. */
export function createPostponeChecks(deps: { readonly pool: Pool }) {
  return async (taskIds: readonly string[], backoff: Backoff): Promise<void> => {
    if (taskIds.length === 0) return
    await deps.pool.query({
      name: 'postpone-checks',
      text: postponeSql,
      values: [taskIds, backoff.firstMs, backoff.mostMs],
    })
  }
}

const postponeSql = `
  with overdue as (
    select task_id, now() + least($2 * 2.0 ^ least(checks, 20), $3) * interval '1 millisecond' as later
    from task where task_id = any($1) and status in ('queued', 'processing')
    order by task_id for update
  )
  update task set checks = checks + 1,
    next_check_at = case
      when deadline_at > now() then least(later, deadline_at)
      when hard_end_at > now() then least(later, hard_end_at)
      else later end
  from overdue where task.task_id = overdue.task_id`
