import type { Pool } from 'pg'
import type { Backoff } from '../../domain/ports/reconcileStore.ts'

/**
 * Time until the first check of a started task. If somebody terminates a run before its first attempt, the
 * reconciler notices it after this time at the latest.
 */
const firstCheckSeconds = 15

/**
 * Records that the workflows of these tasks exist, and schedules the first check of those that are queued.
 * For a task that is already processing, the gate has scheduled a check.
 */
export async function markStarted(pool: Pool, taskIds: readonly string[]): Promise<void> {
  if (taskIds.length === 0) return
  await pool.query({ name: 'mark-started', text: markSql, values: [taskIds, firstCheckSeconds] })
}

/**
 * Locks the tasks in the order of their ids. Every statement that locks several tasks uses this order, so
 * that two of them cannot deadlock.
 */
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

/**
 * Schedules the next check of live tasks after a check that did not end them. The pause doubles each time. A
 * check never comes later than the task's deadline. If the deadline has passed, it never comes later than the
 * hard end.
 */
export async function postponeChecks(
  pool: Pool,
  taskIds: readonly string[],
  backoff: Backoff,
): Promise<void> {
  if (taskIds.length === 0) return
  await pool.query({
    name: 'postpone-checks',
    text: postponeSql,
    values: [taskIds, backoff.firstMs, backoff.mostMs],
  })
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

/** Makes live tasks due for a check now. */
export async function makeChecksDue(pool: Pool, taskIds: readonly string[]): Promise<void> {
  await pool.query({
    name: 'hasten-checks',
    text: `with due as (
        select task_id from task
        where task_id = any($1) and status in ('queued', 'processing') and next_check_at > now()
        order by task_id for update
      )
      update task set next_check_at = now() from due where task.task_id = due.task_id`,
    values: [taskIds],
  })
}
