import type { Pool } from 'pg'
import type { CheckResult } from '../../domain/ports/reconcileStore.ts'

/**
 * Time from the start of a task's workflow to the first check of the task. Somebody may terminate the workflow before
 * the task's first attempt, and nothing tells Darkroom about it. The reconciler notices it at this check, which comes
 * late if the reconciler has much to do.
 */
const firstCheckSeconds = 15

/**
 * The pauses between the later checks of one task, by the result of the last check. The first pause takes `firstMs`,
 * and each further pause twice as long as the one before, but at most `mostMs`. A task that stays in Temporal's queue
 * for half an hour is checked about eight times.
 */
const pauses: Readonly<Record<CheckResult, { readonly firstMs: number; readonly mostMs: number }>> =
  {
    running: { firstMs: 15_000, mostMs: 600_000 },
    temporal_unreachable: { firstMs: 5_000, mostMs: 30_000 },
    not_started: { firstMs: 2_000, mostMs: 30_000 },
    call_under_way: { firstMs: 5_000, mostMs: 10_000 },
    error: { firstMs: 2_000, mostMs: 60_000 },
  }

/**
 * Records that the workflows of these tasks exist, and schedules the first check of those tasks that are still
 * queued. For a task that is already processing, the gate or `makeStartDue` has scheduled the check.
 */
export async function markStarted(pool: Pool, taskIds: readonly string[]): Promise<void> {
  if (taskIds.length === 0) return
  await pool.query({ name: 'mark-started', text: markSql, values: [taskIds, firstCheckSeconds] })
}

/**
 * Locks the tasks in the order of their ids. Every statement that waits for the locks of several live tasks uses this
 * order, so that two such statements cannot deadlock. Statements on ended tasks need no order: they skip tasks that
 * are locked, or only the reconciler runs them, and it runs in one process at a time.
 */
const markSql = `
  with marked as (
    select task_id from task
    where task_id = any($1) and started_at is null and completed_at is null
    order by task_id for update
  )
  update task set started_at = now(), checks = 0,
    next_check_at = case when status = 'queued'
      then least(deadline_at, now() + $2 * interval '1 second') else next_check_at end
  from marked where task.task_id = marked.task_id`

/**
 * Schedules the next check of live tasks after a check that did not end them. The pause depends on the result of that
 * check (`pauses`). But no check is scheduled past the deadline of its task, or past the hard end when the deadline
 * is over. After the hard end only the pause counts.
 */
export async function postponeChecks(
  pool: Pool,
  taskIds: readonly string[],
  result: CheckResult,
): Promise<void> {
  if (taskIds.length === 0) return
  const { firstMs, mostMs } = pauses[result]
  await pool.query({
    name: 'postpone-checks',
    text: postponeSql,
    values: [taskIds, firstMs, mostMs],
  })
}

const postponeSql = `
  with overdue as (
    select task_id, now() + least($2 * 2.0 ^ least(checks, 20), $3) * interval '1 millisecond' as later
    from task where task_id = any($1) and completed_at is null
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
        where task_id = any($1) and completed_at is null and next_check_at > now()
        order by task_id for update
      )
      update task set next_check_at = now() from due where task.task_id = due.task_id`,
    values: [taskIds],
  })
}
