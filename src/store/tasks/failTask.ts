import type { Pool, PoolClient, QueryConfig } from 'pg'
import type { TaskFailure } from '../../domain/failure.ts'
import { mayHaveWorked } from '../../domain/gate/taskFacts.ts'
import type { FailResult } from '../../domain/ports/attemptStore.ts'
import type { DueWebhook } from '../../domain/ports/webhookStore.ts'
import { syncRoutes } from '../../domain/tasks/imageRequest.ts'
import { isEnded } from '../../domain/tasks/task.ts'
import { closeLostAttemptsSql } from '../attempts/closeAttempt.ts'
import { runStatement, withTransaction } from '../connection/transaction.ts'
import { deliveriesSql, dueOfDoneSql } from '../webhooks/deliveriesOfEnd.ts'
import { endedColumns, endHoldSql } from './endHold.ts'
import { freeKeySql, isKeyFreed } from './idempotencyKey.ts'
import type { Lifetimes } from './lifetimes.ts'
import { unusedAnswerKeptSql } from './lifetimes.ts'
import type { TaskState } from './lockTask.ts'
import { isLiveSql, isUnderWay, lockTaskWithAttempts } from './lockTask.ts'
import type { AnnounceEnd } from './announceEnd.ts'

/** What the statements need that end a task without an image. */
export type EndTaskDeps = Lifetimes & {
  readonly pool: Pool
  readonly announceEnd: AnnounceEnd
}

/**
 * Ends a live task as failed and releases its hold. Before the hard end, refuses to do so while the worker of
 * an open call is present: the call is paid for, and its image would be lost. Records `workPossible` when an
 * attempt is open or has an unknown outcome.
 *
 * When no attempt of the task may have done work, one statement fails it, which is its own transaction. The balance
 * of a busy account is then not locked during a round trip to this process: many tasks of one account can end at once.
 */
export async function failTask(
  deps: EndTaskDeps,
  taskId: string,
  failure: TaskFailure,
): Promise<FailResult> {
  if (!failure.workPossible) {
    const query = endQuery(deps, taskId, failure, 'if_no_work')
    const [ended] = await runStatement<Ended>(deps.pool, query)
    if (ended !== undefined) {
      deps.announceEnd(taskId, ended.due)
      return 'failed'
    }
  }
  return failLocked(deps, taskId, failure)
}

/** Does the work of `failTask` under the task's lock, whatever the outcomes of the task's attempts are. */
async function failLocked(
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
 * Ends a locked live task as failed and releases its hold. The task's input images are kept for a time,
 * because an operator may retry the task. The task's idempotency key may become free: see `isKeyFreed`. Returns
 * the webhooks that receive the end.
 */
export async function endAsFailed(
  client: PoolClient,
  lifetimes: Lifetimes,
  { taskId }: TaskState,
  failure: TaskFailure,
): Promise<readonly DueWebhook[]> {
  const { rows } = await client.query<Ended>(endQuery(lifetimes, taskId, failure, 'always'))
  return rows[0]?.due ?? []
}

type Ended = { readonly due: readonly DueWebhook[] }

function endQuery(
  { retentionSeconds, tombstoneSeconds, inputRetentionSeconds }: Lifetimes,
  taskId: string,
  failure: TaskFailure,
  when: 'if_no_work' | 'always',
): QueryConfig {
  return {
    name: 'end-task',
    text: endSql,
    values: [
      taskId,
      failure.code,
      failure.cause,
      failure.workPossible,
      failure.retryAfterMs === undefined ? null : Math.round(failure.retryAfterMs),
      retentionSeconds + tombstoneSeconds,
      isKeyFreed(failure),
      inputRetentionSeconds,
      syncRoutes,
      when === 'if_no_work',
    ],
  }
}

/**
 * Ends a live task without an image. With $10, ends it only if no attempt of it may have done work (`mayHaveWorked`).
 * Another transaction may open an attempt while this statement waits for the lock of the task's row. This statement
 * does not see that attempt. But the row then has another version, so this statement ends nothing: see `publishSql`
 * in settleTask.ts.
 */
const endSql = `
  with found as materialized (
    select task_id as id, xmin as version from task where task_id = $1
  ), done as (
    update task set status = 'failed', failure_code = $2, failure_cause = $3,
      failure_work_possible = $4, failure_retry_after_ms = $5,
      completed_at = statement_timestamp(),
      purge_at = statement_timestamp() + $6 * interval '1 second',
      request = case when $8::integer > 0 then request end,
      retry_until = case when $8::integer > 0
        then statement_timestamp() + least($6, $8) * interval '1 second' end,
      retry_bytes = case when $8::integer > 0 then octet_length(request) + (
        select coalesce(sum(bytes), 0) from upload where upload.task_id = $1 and kind = 'input') end
    from found
    where task_id = found.id and task.xmin = found.version and ${isLiveSql}
      and not ($10 and exists (
        select from attempt
        where attempt.task_id = $1 and (attempt.class is null or attempt.class = 'unknown')))
    returning coalesce(retry_until, completed_at) as input_end, hard_end_at, route, ${endedColumns}
  ), uploads as (
    update upload set sweep_after = case
        when kind = 'input' then done.input_end
        else done.hard_end_at + ${unusedAnswerKeptSql} end
    from done where upload.task_id = $1
  ), freed as (${freeKeySql}), lost as (${closeLostAttemptsSql('= $1')} and exists (select from done)),
  ${deliveriesSql('task.failed')},
  ${endHoldSql('release')}
  select ${dueOfDoneSql} as due from done`
