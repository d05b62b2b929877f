import type { Pool } from 'pg'
import type { Backoff } from '../../domain/ports/reconcileStore.ts'

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

/** Makes live rows overdue now; started ones only, the others are on their way anyhow. */
export function createHastenChecks(deps: { readonly pool: Pool }) {
  return async (taskIds: readonly string[]): Promise<void> => {
    await deps.pool.query({
      name: 'hasten-checks',
      text: `update task set next_check_at = now()
        where task_id = any($1) and status in ('queued', 'processing')
          and started_at is not null and next_check_at > now()`,
      values: [taskIds],
    })
  }
}
