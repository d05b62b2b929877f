import type { Pool, PoolClient, QueryConfig } from 'pg'
import type { TaskFailure } from '../../domain/failure.ts'
import type { AnswerMeta } from '../../domain/upstream/answerMeta.ts'
import { knownSide } from '../../domain/upstream/answerMeta.ts'
import type { OutcomeEvidence } from '../../domain/upstream/upstreamCall.ts'
import { evidenceOf } from '../taskRow.ts'
import { runStatement } from '../connection/transaction.ts'
import type { EndedRow } from './afterEnd.ts'
import { endedSql, tailSql } from './afterEnd.ts'
import type { Lifetimes } from './lifetimes.ts'
import type { TaskState } from './lockState.ts'
import { lockState } from './lockState.ts'

// The three ends of a task. Each is one statement: it ends the task if its conditions hold on the task's row by the
// re-check (docs/architecture.md), and `tailSql` does what every end does. So a task ends once, and its money moves once.

/** With a client, the end is part of its transaction. */
export type EndDeps = Lifetimes & { readonly pool: Pool | PoolClient }

/** What an end did or found, and what it ended. The caller announces what has ended, after the commit. */
export type End<Result> = { readonly result: Result; readonly ended?: EndedRow | undefined }

/** A stored answer to publish. */
export type SettleInput = {
  readonly meta: AnswerMeta
  readonly answerId: string
  /** What the caller saw of the call that brought the answer. Absent when another process made the call. */
  readonly evidence?: OutcomeEvidence
}

/**
 * What `failTask` did or found. Only `failed` changed the task.
 * - `call_under_way`: a call of the task is under way, or was made since the failure was decided. Decide again.
 * - `succeeded`: the task has ended with an image.
 * - `over`: the task has ended without an image, or is purged.
 */
export type FailResult = 'failed' | 'call_under_way' | 'succeeded' | 'over'

/**
 * Why a task is cancelled.
 * - `asked`: a client, an operator or Temporal asked for it. This is final: the idempotency key stays with the
 *   cancelled task.
 * - `client_left`: the last client of a synchronous call has disconnected. The idempotency key is freed, so that the
 *   client can send the call again. The inputs of the task are deleted, because nobody needs them any more.
 */
export type CancelReason = 'asked' | 'client_left'

/**
 * What `cancelTask` did or found.
 * - `cancelled`: the task was cancelled now or earlier.
 * - `call_under_way`: an upstream call is under way. The task continues.
 * - `work_possible`: an earlier upstream call may have done work that is paid for. The task continues.
 * - `succeeded`, `failed`: the task had already ended in this way.
 * - `missing`: there is no such task, or it is purged.
 */
export type CancelResult =
  | 'cancelled'
  | 'call_under_way'
  | 'work_possible'
  | 'succeeded'
  | 'failed'
  | 'missing'

/**
 * Publishes a stored answer and settles the hold: charges what the task's row says for an image of this size, and
 * refunds the rest. The result is whether the task has succeeded with this answer, now or before. Otherwise the task had
 * ended in another way, and nothing is published or charged.
 */
export async function settleTask(deps: EndDeps, input: SettleInput): Promise<End<boolean>> {
  const [ended] = await runStatement<EndedRow>(deps.pool, settleQuery(deps, input))
  if (ended !== undefined) return { result: true, ended }
  const winner = await lockState(deps.pool, input.meta.taskId)
  return { result: winner?.answerId === input.answerId }
}

/**
 * Ends a live task as failed and releases its hold. `attempts` is how many attempts the task had when its failure was
 * decided: a call that was made since could have brought an image. Before the hard end, refuses to fail a task whose
 * call is under way, because that call is paid for.
 */
export async function failTask(
  deps: EndDeps,
  taskId: string,
  failure: TaskFailure,
  attempts: number,
): Promise<End<FailResult>> {
  const query = failQuery(deps, { taskId, failure, attempts })
  for (;;) {
    const [ended] = await runStatement<EndedRow>(deps.pool, query)
    if (ended !== undefined) return { result: 'failed', ended }
    const result = whyNotFailed(await lockState(deps.pool, taskId), attempts)
    if (result !== undefined) return { result }
    // A transaction that ended since then has made the failure possible.
  }
}

/**
 * Cancels a live task and releases its hold, unless a call is under way or may have done work. In that case the
 * task continues, and it is charged only if it gets an image. Returns `cancelled` again for a task that was
 * cancelled before.
 */
export async function cancelTask(
  deps: EndDeps,
  taskId: string,
  reason: CancelReason,
): Promise<End<CancelResult>> {
  const clientLeft = reason === 'client_left'
  const cause = clientLeft ? 'client_left' : 'cancelled'
  const failure = { code: 'cancelled', cause, workPossible: false } as const
  const lifetimes = clientLeft ? { ...deps, inputRetentionSeconds: 0 } : deps
  const query = failQuery(lifetimes, { taskId, failure })
  for (;;) {
    const [ended] = await runStatement<EndedRow>(deps.pool, query)
    if (ended !== undefined) return { result: 'cancelled', ended }
    const result = whyNotCancelled(await lockState(deps.pool, taskId))
    if (result !== undefined) return { result }
    // A transaction that ended since then has made the cancel possible.
  }
}

function whyNotFailed(state: TaskState | undefined, attempts: number): FailResult | undefined {
  if (state === undefined || state.status === 'failed') return 'over'
  if (state.status === 'succeeded') return 'succeeded'
  const isCalled = state.attempts !== attempts || (state.isCalling && !state.isPastEnd)
  return isCalled ? 'call_under_way' : undefined
}

function whyNotCancelled(state: TaskState | undefined): CancelResult | undefined {
  if (state === undefined) return 'missing'
  const { status, failureCode, isCalling, workPossible } = state
  if (status === 'succeeded') return 'succeeded'
  if (status === 'failed') return failureCode === 'cancelled' ? 'cancelled' : 'failed'
  if (isCalling) return 'call_under_way'
  return workPossible ? 'work_possible' : undefined
}

function settleQuery(
  { retentionSeconds, tombstoneSeconds }: Lifetimes,
  { meta, answerId, evidence = { reason: 'image' } }: SettleInput,
): QueryConfig {
  return {
    name: 'settle-task',
    text: settleSql,
    values: [
      meta.taskId,
      meta.attempt,
      answerId,
      meta.image.mimeType,
      meta.image.bytes,
      meta.image.sha256,
      knownSide(meta.image.width) ?? null,
      knownSide(meta.image.height) ?? null,
      JSON.stringify(meta.native),
      retentionSeconds,
      retentionSeconds + tombstoneSeconds,
      ...evidenceOf(evidence),
    ],
  }
}

/**
 * Settles a live task with the first stored answer, of whichever attempt. That attempt is closed as succeeded, at the
 * moment of the task's end. An attempt that is open besides is closed by its worker. An image ends the fault of its
 * channel, and raises the limit after a refusal (`healed`, before the locks of the tail).
 */
const settleSql = `
  with ended as (
    update task set status = 'succeeded', open_attempt = null, answer_id = $3, asset_mime_type = $4, asset_bytes = $5,
      asset_sha256 = $6, asset_width = $7::integer, asset_height = $8::integer, native_response = $9,
      refunded = refund_of(credits, smaller_prices, $7::integer::bigint * $8::integer),
      request = null, native_rejection = null,
      processing_at = coalesce(processing_at, statement_timestamp()), completed_at = statement_timestamp(),
      expires_at = statement_timestamp() + $10 * interval '1 second',
      purge_at = statement_timestamp() + $11 * interval '1 second'
    where task_id = $1 and completed_at is null
    returning ${endedSql}
  ), closed as (
    update attempt set closed_at = ended.completed_at, class = 'succeeded', reason = $12, http_status = $13,
      upstream_request_id = $14, latency_ms = $15, retry_after_ms = null
    from ended where attempt.task_id = ended.task_id and n = $2
    returning attempt.channel, attempt.model
  ), healed as (
    select heal_cooldown(channel, model) from closed
  ), done as materialized (
    select ended.*, channel from ended left join closed on true, (select count(*) from healed) as after_healed
  ), ${tailSql}`

type Failing = {
  readonly taskId: string
  readonly failure: TaskFailure
  /** Absent for a cancel. */
  readonly attempts?: number
}

function failQuery(
  { retentionSeconds, tombstoneSeconds, inputRetentionSeconds }: Lifetimes,
  { taskId, failure, attempts }: Failing,
): QueryConfig {
  const { code, cause, workPossible, retryAfterMs } = failure
  return {
    name: attempts === undefined ? 'cancel-task' : 'fail-task',
    text: attempts === undefined ? cancelSql : failSql,
    values: [
      taskId,
      code,
      cause,
      workPossible,
      retryAfterMs === undefined ? null : Math.round(retryAfterMs),
      retentionSeconds + tombstoneSeconds,
      inputRetentionSeconds,
      ...(attempts === undefined ? [] : [attempts]),
    ],
  }
}

/** Fails a live task of which no call is under way, or that is past its hard end, if it had $8 attempts. */
const failSql = failWhere(
  'attempts = $8 and (open_attempt is null or hard_end_at <= clock_timestamp())',
)

/** Fails a live task of which no call is under way and none may have done work. */
const cancelSql = failWhere('open_attempt is null and not work_possible')

/** The request and the inputs are kept for a time, because an operator may retry the task. */
function failWhere(condition: string): string {
  return `
  with done as (
    update task set status = 'failed', failure_code = $2, failure_cause = $3, failure_retry_after_ms = $5,
      work_possible = work_possible or open_attempt is not null or $4, open_attempt = null,
      completed_at = statement_timestamp(),
      purge_at = statement_timestamp() + $6 * interval '1 second',
      request = case when $7::integer > 0 then request end,
      retry_until = case when $7::integer > 0
        then statement_timestamp() + least($6, $7) * interval '1 second' end,
      retry_bytes = case when $7::integer > 0 then octet_length(request) + (
        select coalesce(sum(bytes), 0) from upload where upload.task_id = $1 and kind = 'input') end
    where task_id = $1 and completed_at is null and ${condition}
    returning ${endedSql},
      (select channel from attempt where attempt.task_id = $1 and n = attempts) as channel
  ), ${tailSql}`
}
