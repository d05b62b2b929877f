import type { Pool, PoolClient, QueryConfig } from 'pg'
import type { TaskFailure } from '../../domain/failure.ts'
import { mayHaveWorked } from '../../domain/gate/taskFacts.ts'
import type { AttemptStore, FailResult } from '../../domain/ports/attemptStore.ts'
import { syncRoutes } from '../../domain/tasks/imageRequest.ts'
import { isEnded } from '../../domain/tasks/task.ts'
import { closeLostAttemptsSql } from '../attempts/closeAttempt.ts'
import { runStatement, withTransaction } from '../connection/transaction.ts'
import { deliveriesSql } from '../webhooks/deliveriesOfEnd.ts'
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

/** A task of `accountId` that must end without an image. */
type Failing = {
  readonly taskId: string
  readonly failure: TaskFailure
  readonly accountId?: string | undefined
}

/**
 * Creates the function that ends a live task as failed and releases its hold. Before the hard end, it refuses to do so
 * while the worker of an open call is present: the call is paid for, and its image would be lost. Records
 * `workPossible` when an attempt is open or has an unknown outcome.
 *
 * When no attempt of the task may have done work, one statement fails it, which is its own transaction. The balance
 * of a busy account is then not locked during a round trip to this process.
 */
export function createFailTask(deps: EndTaskDeps): AttemptStore['failTask'] {
  return async (taskId, failure, accountId) => {
    const query = endQuery(deps, [{ taskId, failure, accountId }], 'if_no_work')
    const [ended] = failure.workPossible ? [] : await runStatement<Ended>(deps.pool, query)
    if (ended === undefined) return failLocked(deps, taskId, failure)
    deps.announceEnd(taskId)
    return 'failed'
  }
}

/** Does the work of `failTask` under the task's lock, whatever the outcomes of the task's attempts are. */
async function failLocked(
  deps: EndTaskDeps,
  taskId: string,
  failure: TaskFailure,
): Promise<FailResult> {
  const result = await withTransaction<FailResult>(deps.pool, async (client) => {
    const task = await lockTaskWithAttempts(client, taskId)
    if (task === undefined) return 'over'
    if (isEnded(task.status)) return task.status === 'succeeded' ? 'succeeded' : 'over'
    const open = task.attempts.find((attempt) => attempt.closedAtMs === null)
    if (open !== undefined && isUnderWay(task, open)) return 'call_under_way'
    const workPossible = failure.workPossible || mayHaveWorked(task.attempts)
    await endAsFailed(client, deps, task, { ...failure, workPossible })
    return 'failed'
  })
  if (result === 'failed') deps.announceEnd(taskId)
  return result
}

/**
 * Ends a locked live task as failed and releases its hold. The task's input images are kept for a time,
 * because an operator may retry the task. The task's idempotency key may become free: see `isKeyFreed`.
 */
export async function endAsFailed(
  client: PoolClient,
  lifetimes: Lifetimes,
  { taskId }: TaskState,
  failure: TaskFailure,
): Promise<void> {
  await client.query(endQuery(lifetimes, [{ taskId, failure }], 'always'))
}

type Ended = { readonly taskId: string }

function endQuery(
  { retentionSeconds, tombstoneSeconds, inputRetentionSeconds }: Lifetimes,
  failing: readonly Failing[],
  when: 'if_no_work' | 'always',
): QueryConfig {
  return {
    name: 'end-tasks',
    text: endSql,
    values: [
      failing.map(({ taskId }) => taskId),
      JSON.stringify(failing.map(columnsOf)),
      retentionSeconds + tombstoneSeconds,
      inputRetentionSeconds,
      syncRoutes,
      when === 'if_no_work',
    ],
  }
}

function columnsOf({ taskId, failure }: Failing): unknown {
  const { code, cause, workPossible, retryAfterMs } = failure
  return {
    of_task: taskId,
    code,
    cause,
    work_possible: workPossible,
    retry_after_ms: retryAfterMs === undefined ? null : Math.round(retryAfterMs),
    key_freed: isKeyFreed(failure),
  }
}

/**
 * Ends live tasks of one account without an image. With $6, ends only those of which no attempt may have done work
 * (`mayHaveWorked`). Another transaction may change a task meanwhile, or open an attempt that this statement does not
 * see. This statement leaves such a task out: see `publishSql` in settleTask.ts.
 */
const endSql = `
  with failing as materialized (
    select * from json_to_recordset($2::json) as failing (
      of_task text, code text, cause text, work_possible boolean, retry_after_ms bigint, key_freed boolean)
  ), found as materialized (
    select task_id as found_id, xmin as version from task where task_id = any($1)
  ), live as materialized (
    select task_id as live_id from task join found on found_id = task_id
    where task_id = any($1) and task.xmin = version and ${isLiveSql}
      and not ($6 and exists (
        select from attempt
        where attempt.task_id = any($1) and attempt.task_id = found_id
          and (attempt.class is null or attempt.class = 'unknown')))
    for update of task skip locked
  ), done as (
    update task set status = 'failed', failure_code = code, failure_cause = cause,
      failure_work_possible = work_possible, failure_retry_after_ms = retry_after_ms,
      completed_at = statement_timestamp(),
      purge_at = statement_timestamp() + $3 * interval '1 second',
      request = case when $4::integer > 0 then request end,
      retry_until = case when $4::integer > 0
        then statement_timestamp() + least($3, $4) * interval '1 second' end,
      retry_bytes = case when $4::integer > 0 then octet_length(request) + (
        select coalesce(sum(bytes), 0) from upload where upload.task_id = live_id and kind = 'input') end
    from live join failing on of_task = live_id
    where task_id = any($1) and task_id = live_id
    returning coalesce(retry_until, completed_at) as input_end, hard_end_at, route, key_freed, ${endedColumns}
  ), uploads as (
    update upload set sweep_after = case
        when kind = 'input' then done.input_end
        else done.hard_end_at + ${unusedAnswerKeptSql} end
    from done where upload.task_id = any($1) and upload.task_id = done.task_id
  ), freed as (${freeKeySql}), lost as (
    ${closeLostAttemptsSql('= any($1)')} and exists (
      select from done where done.task_id = attempt.task_id)
  ),
  ${deliveriesSql('task.failed')},
  ${endHoldSql('release')}
  select task_id as "taskId" from done`
