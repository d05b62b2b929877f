import { mayHaveWorked } from '../../domain/gate/taskFacts.ts'
import { isEnded } from '../../domain/task.ts'
import type { Pool, PoolClient } from 'pg'
import type { TaskFailure } from '../../domain/failure.ts'
import { isSyncRoute } from '../../domain/imageRequest.ts'
import { closeLostSql } from '../attempts/closeAttempt.ts'
import { withTransaction } from '../connection/transaction.ts'
import type { LockedTask } from './lockTask.ts'
import { lockTaskWithAttempts } from './lockTask.ts'

export type Lifetimes = { readonly retentionSeconds: number; readonly tombstoneSeconds: number }

/**
 * Ends a locked live task without an image: failed, released, its inputs kept as long as its record. A
 * synchronous task gives its key back where the caller's retry is to be a new try (design 1.13).
 */
export async function endTask(
  client: PoolClient,
  task: LockedTask,
  failure: TaskFailure,
  lifetimes: Lifetimes,
): Promise<void> {
  await client.query({
    name: 'end-task',
    text: endSql,
    values: [
      task.taskId,
      failure.code,
      failure.cause,
      failure.workPossible,
      failure.retryAfterMs === undefined ? null : Math.round(failure.retryAfterMs),
      lifetimes.retentionSeconds + lifetimes.tombstoneSeconds,
      isSyncRoute(task.route) && isNewTry(failure),
      task.accountId,
      task.credits,
    ],
  })
}

/** Nothing was done, or the caller is told when to come again. */
function isNewTry({ code, workPossible }: TaskFailure): boolean {
  return !workPossible || code === 'rate_limit_exceeded'
}

const endSql = `
  with done as (
    update task set status = 'failed', failure_code = $2, failure_cause = $3,
      failure_work_possible = $4, failure_retry_after_ms = $5,
      completed_at = statement_timestamp(),
      purge_at = statement_timestamp() + $6 * interval '1 second'
    where task_id = $1
    returning purge_at, hard_end_at
  ), uploads as (
    update upload set sweep_after = case
        when kind = 'input' then done.purge_at
        else done.hard_end_at + interval '1 hour' end
    from done where upload.task_id = $1
  ), freed as (
    delete from idempotency_key where task_id = $1 and $7
  ), lost as (${closeLostSql}),
  ${endHoldSql('release', { task: '$1', account: '$8', credits: '$9' })}
  select pg_notify('task_end', $1)`

/** Where the statement finds these, as `$n`. */
type HoldParams = { readonly task: string; readonly account: string; readonly credits: string }

/**
 * The parts of a `with` that settle or release the hold of a task whose row is locked: its ledger row,
 * then the balance, in the statement that ends the task, so that a busy account's balance is locked for
 * that and the commit alone. The partial unique index makes a second end impossible. A price of zero made
 * no hold and ends none.
 */
export function endHoldSql(kind: 'settle' | 'release', params: HoldParams): string {
  const { task, account, credits } = params
  const to = kind === 'settle' ? 'spent' : 'available'
  return `entry as (
    insert into ledger (account_id, task_id, kind, debit, credit, credits)
    select ${account}, ${task}, '${kind}', 'held', '${to}', ${credits}::bigint
    where ${credits}::bigint > 0
    returning account_id, credits
  ), balanced as (
    update balance set held = held - entry.credits, ${to} = ${to} + entry.credits
    from entry where balance.account_id = entry.account_id
  )`
}

/** Ends a live task with a failure and releases its hold; false when it had ended already. */
export function createFailTask(deps: { readonly pool: Pool; readonly lifetimes: Lifetimes }) {
  return async (taskId: string, failure: TaskFailure): Promise<boolean> =>
    withTransaction(deps.pool, async (client) => {
      const task = await lockTaskWithAttempts(client, taskId)
      if (task === undefined || isEnded(task.status)) return false
      const workPossible = failure.workPossible || mayHaveWorked(task.attempts)
      await endTask(client, task, { ...failure, workPossible }, deps.lifetimes)
      return true
    })
}

/**
 * Cancels a live task and releases its hold, unless a call is under way or may have done work: then it
 * finishes and is charged (design 1.11). The same compare-and-set serves a client that has gone, the
 * CLI and a cancelled workflow.
 */
export function createCancelTask(deps: { readonly pool: Pool; readonly lifetimes: Lifetimes }) {
  return async (taskId: string): Promise<boolean> =>
    withTransaction(deps.pool, async (client) => {
      const task = await lockTaskWithAttempts(client, taskId)
      if (task === undefined || isEnded(task.status)) return false
      if (mayHaveWorked(task.attempts)) return false
      const failure = { code: 'cancelled', cause: 'cancelled', workPossible: false } as const
      await endTask(client, task, failure, deps.lifetimes)
      return true
    })
}

/** Whether a task has ended as `cancelled`; false for one that is gone. */
export function createIsCancelled(deps: { readonly pool: Pool }) {
  return async (taskId: string): Promise<boolean> => {
    const { rowCount } = await deps.pool.query({
      name: 'is-cancelled',
      text: `select from task where task_id = $1 and failure_code = 'cancelled'`,
      values: [taskId],
    })
    return rowCount === 1
  }
}
