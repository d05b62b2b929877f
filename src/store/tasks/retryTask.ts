import type { PoolClient } from 'pg'
import { assertNever } from '../../domain/assertNever.ts'
import type { TaskTerms } from '../../domain/tasks/taskTerms.ts'
import type { ImageRequest, Route } from '../../domain/tasks/imageRequest.ts'
import type { TaskStatus } from '../../domain/tasks/task.ts'
import { isKept } from '../taskRow.ts'

export type RetryInput = {
  /** The failed task. */
  readonly taskId: string
  /** The id that the new task gets. */
  readonly newTaskId: string
  /** Returns `undefined` when the model of the request takes it no more. */
  readonly termsOf: (request: ImageRequest) => TaskTerms | undefined
}

export type RetryResult =
  /** `taskId` is the id of the new task. */
  | { readonly kind: 'retried'; readonly taskId: string }
  /** There is no such task, or the task is due for the purge. */
  | { readonly kind: 'unknown' }
  | { readonly kind: 'not_failed'; readonly status: TaskStatus }
  /** `taskId` is the id of the task that the earlier retry made. */
  | { readonly kind: 'already_retried'; readonly taskId: string }
  /** The prompt or the input images are already deleted. */
  | { readonly kind: 'inputs_gone' }
  /** The model has gone, or does not take the request any more. */
  | { readonly kind: 'model_gone' }
  /** The account does not have the credits that the new task costs. */
  | { readonly kind: 'insufficient'; readonly credits: number }

/**
 * Retries a failed task, and makes every check of a retry. Inserts a new task that is linked to the failed task and
 * has its own hold. The new task takes over the inputs, because two tasks never share a blob. The failed task's row
 * is locked, so that the second of two concurrent retries sees the new task of the first retry. Unless the result is
 * `retried`, the caller must roll back.
 *
 * No idempotency key names the new task, and no client waits for it on an open connection.
 */
export async function retryTask(client: PoolClient, input: RetryInput): Promise<RetryResult> {
  const failed = await lockFailed(client, input.taskId)
  if (failed === undefined) return { kind: 'unknown' }
  if (failed.retriedAs !== null) return { kind: 'already_retried', taskId: failed.retriedAs }
  if (failed.status !== 'failed') return { kind: 'not_failed', status: failed.status }
  if (failed.request === null) return { kind: 'inputs_gone' }
  const original: ImageRequest = JSON.parse(failed.request)
  const request = { ...original, route: asyncRoute(original.route) }
  const terms = input.termsOf(request)
  if (terms === undefined) return { kind: 'model_gone' }
  const { newTaskId } = input
  const { credits } = terms
  const { rows } = await client.query<{ readonly taken: boolean; readonly paid: boolean }>(
    insertSql,
    [
      input.taskId,
      newTaskId,
      request.route,
      JSON.stringify(request),
      credits,
      terms.deadlineMs,
      terms.hardEndMs,
      JSON.stringify(terms.smallerPrices),
    ],
  )
  if (request.inputs.length > 0 && rows[0]?.taken !== true) return { kind: 'inputs_gone' }
  return rows[0]?.paid === true
    ? { kind: 'retried', taskId: newTaskId }
    : { kind: 'insufficient', credits }
}

/**
 * Returns the asynchronous route for the same request. On a synchronous route an upstream refusal soon ends
 * the task, because the waiting client can send its request again. The new task has no waiting client, so it
 * should wait and call again.
 */
function asyncRoute(route: Route): Route {
  switch (route) {
    case 'images.tasks':
    case 'images.generations':
    case 'images.edits':
      return 'images.tasks'
    case 'v1beta.generateContent':
    case 'v1beta.asyncGenerateContent':
      return 'v1beta.asyncGenerateContent'
    default:
      return assertNever(route)
  }
}

type FailedRow = {
  readonly status: TaskStatus
  readonly request: string | null
  readonly retriedAs: string | null
}

async function lockFailed(client: PoolClient, taskId: string): Promise<FailedRow | undefined> {
  const { rowCount } = await client.query('select 1 from task where task_id = $1 for update', [
    taskId,
  ])
  if (rowCount === 0) return undefined
  // Read the row after the lock, so that the new task of a concurrent retry is seen.
  const { rows } = await client.query<FailedRow>(failedSql, [taskId])
  return rows[0]
}

const failedSql = `
  select status, request,
    (select retry.task_id from task retry where retry.retry_of = task.task_id) as "retriedAs"
  from task where task_id = $1 and ${isKept}`

/**
 * Inserts the new task, gives it the inputs, and holds its price if the balance covers it. The failed task's copy of the
 * request is not needed any more: the new task has its own copy, and a task can be retried only once.
 */
const insertSql = `
  with made as (
    insert into task (task_id, account_id, key_id, route, family, model, action, size, quality,
      request, fingerprint, key_digest, credits, deadline_at, hard_end_at, retry_of, smaller_prices)
    select $2, account_id, key_id, $3, family, model, action, size, quality, $4, fingerprint, key_digest,
      $5, now() + $6::float8 * interval '1 millisecond', now() + $7::float8 * interval '1 millisecond',
      task_id, nullif($8::jsonb, '[]')
    from task where task_id = $1
    returning account_id, credits
  ), taken as (
    update upload set task_id = $2, sweep_after = 'infinity'
    where task_id = $1 and kind = 'input' and sweep_after > now()
    returning 1
  ), forgotten as (
    update task set request = null, retry_until = null, retry_bytes = null where task_id = $1
  ), entry as (
    insert into ledger (account_id, task_id, kind, credits) select account_id, $2, 'hold', credits from made
  ), paid as (
    update balance set available = available - credits from made
    where balance.account_id = made.account_id and available >= credits
    returning 1
  )
  select exists (select from taken) as taken, exists (select from paid) as paid`
