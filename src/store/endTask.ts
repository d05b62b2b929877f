import type { PoolClient } from 'pg'
import { isSyncRoute } from '../domain/imageRequest.ts'
import type { TaskFailure } from '../domain/taskFailure.ts'
import { closeLostSql } from './closeOpenAttempt.ts'
import { endHoldSql } from './endHold.ts'
import type { LockedTask } from './lockTask.ts'

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
