import type { Pool, PoolClient } from 'pg'
import type { TaskFailure } from '../../domain/failure.ts'
import { mayHaveWorked } from '../../domain/gate/taskFacts.ts'
import type { CancelReason, CancelResult, FailResult } from '../../domain/ports/attemptStore.ts'
import type { DueWebhook } from '../../domain/ports/webhookStore.ts'
import { isSyncRoute } from '../../domain/tasks/imageRequest.ts'
import { isEnded } from '../../domain/tasks/task.ts'
import { closeLostAttemptsSql } from '../attempts/closeAttempt.ts'
import { withTransaction } from '../connection/transaction.ts'
import type { LockedTask } from './lockTask.ts'
import { isUnderWay, lockTaskWithAttempts } from './lockTask.ts'
import { deliveriesSql, dueAfterEndSql } from '../webhooks/deliveriesOfEnd.ts'

/**
 * How long an image is kept (`retentionSeconds`), and how much longer its task's record is kept
 * (`tombstoneSeconds`). The record of a failed task is kept for the sum of both, and its inputs for
 * `inputRetentionSeconds`. With 0, the inputs and the prompt are deleted at once.
 */
export type Lifetimes = {
  readonly retentionSeconds: number
  readonly tombstoneSeconds: number
  readonly inputRetentionSeconds: number
}

type EndTaskDeps = Lifetimes & {
  readonly pool: Pool
  readonly announceEnd: AnnounceEnd
}

/**
 * Called with every task that was just ended, after the commit, so that waiting processes notice it at once.
 * `due` are the webhooks that receive the end. Never throws and never waits.
 */
export type AnnounceEnd = (taskId: string, due: readonly DueWebhook[]) => void

/**
 * Ends a live task as failed and releases its hold. Before the hard end, refuses to do so while the worker of
 * an open call is present: the call is paid for, and its image would be lost. Records `workPossible` when an
 * attempt is open or has an unknown outcome.
 */
export async function failTask(
  deps: EndTaskDeps,
  taskId: string,
  failure: TaskFailure,
): Promise<FailResult> {
  let due: readonly DueWebhook[] = []
  const result = await withTransaction<FailResult>(deps.pool, async (client) => {
    const task = await lockTaskWithAttempts(client, taskId)
    if (task === undefined) return 'over'
    if (isEnded(task.status)) return task.status === 'succeeded' ? 'succeeded' : 'over'
    const open = task.attempts.find((attempt) => attempt.closedAtMs === null)
    if (open !== undefined && isUnderWay(task, open)) return 'call_under_way'
    const workPossible = failure.workPossible || mayHaveWorked(task.attempts)
    due = await endAsFailed(client, deps, task, { ...failure, workPossible })
    return 'failed'
  })
  if (result === 'failed') deps.announceEnd(taskId, due)
  return result
}

/**
 * Cancels a live task and releases its hold, unless a call is under way or may have done work. In that case the
 * task continues, and it is charged only if it gets an image. Returns `cancelled` again for a task that was
 * cancelled before.
 */
export async function cancelTask(
  deps: EndTaskDeps,
  taskId: string,
  reason: CancelReason,
): Promise<CancelResult> {
  let due: readonly DueWebhook[] = []
  const result = await withTransaction<CancelResult | 'now_cancelled'>(
    deps.pool,
    async (client) => {
      const task = await lockTaskWithAttempts(client, taskId)
      if (task === undefined) return 'missing'
      if (isEnded(task.status)) return endedResult(client, taskId)
      const open = task.attempts.find((attempt) => attempt.closedAtMs === null)
      if (open !== undefined && isUnderWay(task, open)) return 'call_under_way'
      if (mayHaveWorked(task.attempts)) return 'work_possible'
      const clientLeft = reason === 'client_left'
      const lifetimes = clientLeft ? { ...deps, inputRetentionSeconds: 0 } : deps
      const cause = clientLeft ? 'client_left' : 'cancelled'
      due = await endAsFailed(client, lifetimes, task, {
        code: 'cancelled',
        cause,
        workPossible: false,
      })
      return 'now_cancelled'
    },
  )
  if (result !== 'now_cancelled') return result
  deps.announceEnd(taskId, due)
  return 'cancelled'
}

async function endedResult(client: PoolClient, taskId: string): Promise<CancelResult> {
  const { rows } = await client.query<{ result: 'cancelled' | 'succeeded' | 'failed' }>({
    name: 'ended-result',
    text: `select case when failure_code = 'cancelled' then 'cancelled' else status end as result
      from task where task_id = $1`,
    values: [taskId],
  })
  return rows[0]?.result ?? 'missing'
}

/**
 * Ends a locked live task as failed and releases its hold. The task's input images are kept for a time,
 * because an operator may retry the task. The idempotency key of a synchronous task is freed if the client's
 * next request with the same key must start a new task. Returns the webhooks that receive the end.
 */
async function endAsFailed(
  client: PoolClient,
  { retentionSeconds, tombstoneSeconds, inputRetentionSeconds }: Lifetimes,
  task: LockedTask,
  failure: TaskFailure,
): Promise<readonly DueWebhook[]> {
  const { rows } = await client.query<DueWebhook>({
    name: 'end-task',
    text: endSql,
    values: [
      task.taskId,
      failure.code,
      failure.cause,
      failure.workPossible,
      failure.retryAfterMs === undefined ? null : Math.round(failure.retryAfterMs),
      retentionSeconds + tombstoneSeconds,
      isSyncRoute(task.route) && nextTryIsNewTask(failure),
      inputRetentionSeconds,
    ],
  })
  return rows
}

/**
 * Returns whether the client's next request with the same key starts a new task. It does when no work was
 * done, or when the answer told the client to try again later. A cancel that somebody asked for is final: the
 * next request gets the cancelled task.
 */
function nextTryIsNewTask({ code, cause, workPossible }: TaskFailure): boolean {
  if (cause === 'cancelled') return false
  return !workPossible || code === 'rate_limit_exceeded'
}

/** The columns that `done` must return for `endHoldSql`. */
export const endedColumns = `task_id, account_id, key_id, model, credits, created_at, completed_at, retry_of`

const endSql = `
  with done as (
    update task set status = 'failed', failure_code = $2, failure_cause = $3,
      failure_work_possible = $4, failure_retry_after_ms = $5,
      completed_at = statement_timestamp(),
      purge_at = statement_timestamp() + $6 * interval '1 second',
      request = case when $8::integer > 0 then request end,
      retry_until = case when $8::integer > 0
        then statement_timestamp() + least($6, $8) * interval '1 second' end,
      retry_bytes = case when $8::integer > 0 then octet_length(request) + (
        select coalesce(sum(bytes), 0) from upload where upload.task_id = $1 and kind = 'input') end
    where task_id = $1
    returning coalesce(retry_until, completed_at) as input_end, hard_end_at, ${endedColumns}
  ), uploads as (
    update upload set sweep_after = case
        when kind = 'input' then done.input_end
        else done.hard_end_at + interval '1 hour' end
    from done where upload.task_id = $1
  ), freed as (
    delete from idempotency_key where task_id = $1 and $7
  ), lost as (${closeLostAttemptsSql}),
  ${deliveriesSql('task.failed')},
  ${endHoldSql('release')}
  ${dueAfterEndSql}`

/**
 * Returns the parts of a `with` clause that settle or release the hold of a locked task. The part `done` of
 * the same clause has ended the task, and returns `endedColumns`. The parts insert the ledger row, then update
 * the balance. They are part of the statement that ends the task, so that the balance of a busy account stays
 * locked only for this statement and its commit. The unique index `ledger_one_end` prevents a second end.
 *
 * The ledger row has the time of the end. PostgreSQL ends the statement and then an idle transaction after 10
 * seconds each, so a minute after the end of a period all its rows are visible.
 */
export function endHoldSql(kind: 'settle' | 'release'): string {
  const to = kind === 'settle' ? 'spent' : 'available'
  // A release returns the credits to the period of the submit. A key without a budget has no rows there.
  const refunded =
    kind === 'settle'
      ? ''
      : `refunded as (
    update budget_use set used = greatest(0, used - done.credits) from done
    where budget_use.key_id = done.key_id and done.retry_of is null
      and done.created_at >= starts_at and done.created_at < ends_at
    returning 1
  ), `
  const after = kind === 'settle' ? '' : ', (select count(*) from refunded) as after_refunded'
  return `${refunded}entry as (
    insert into ledger (account_id, task_id, kind, debit, credit, credits, key_id, model, created_at)
    select account_id, task_id, '${kind}', 'held', '${to}', credits, key_id, model, completed_at from done
    returning account_id, credits
  ), balanced as (
    update balance set held = held - entry.credits, ${to} = ${to} + entry.credits
    from entry${after} where balance.account_id = entry.account_id and entry.credits > 0
  )`
}
