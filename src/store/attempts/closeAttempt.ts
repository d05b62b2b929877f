import type { Pool } from 'pg'
import { cooldownAfter } from '../../domain/gate/cooldown.ts'
import type { JsonObject } from '../../domain/json.ts'
import type { OutcomeClass, OutcomeEvidence } from '../../domain/upstream/upstreamCall.ts'
import { runStatement } from '../connection/transaction.ts'
import { afterCloseSql } from '../tasks/dueTasks.ts'
import { publishedSql, unusedAnswerKeptSql } from '../tasks/lifetimes.ts'
import { evidenceOf } from '../taskRow.ts'
import { lostSql, steadySql } from './beatStore.ts'

/** The outcome of the call of attempt `n`. Attempts of a task are counted from 1. */
export type AttemptClose = {
  readonly taskId: string
  readonly n: number
  /** `succeeded` only for an answer that came too late to be published. `settleTask` closes the other ones. */
  readonly class: OutcomeClass
  readonly evidence: OutcomeEvidence
  readonly retryAfterMs?: number | undefined
  /** The vendor's own answer when a family A model rejected the request. A synchronous caller gets it. */
  readonly nativeRejection?: JsonObject | undefined
  /** Close the attempt only if it stores its answer here: its worker does not know whether it was opened. */
  readonly answerId?: string
  /** The places of the attempt's channel. Needed only for a refusal. */
  readonly concurrencyMax?: number
}

/** Limit for the tries of a close that met the transaction that opened its attempt. */
const triesMax = 5

/**
 * Closes an open attempt, of a live or an ended task. Does nothing when it is closed already, or does not meet the
 * conditions. Returns whether it was closed now. A closed attempt frees its place. Its outcome may begin a cooldown
 * (`begin_cooldown` in the schema), and an unknown one may have done paid work. The answer of an ended task is swept, unless the task
 * has published it: an answer that came too late also when its attempt was closed before, because the sweep may have
 * deleted its upload before the answer was stored, and bytes without an upload would stay for ever.
 */
export async function closeAttempt(pool: Pool, close: AttemptClose): Promise<boolean> {
  for (let tries = 1; tries <= triesMax; tries += 1) {
    const [row] = await runStatement<{ closed: boolean; isOpen: boolean }>(pool, {
      name: 'close-attempt',
      text: closeSql,
      values: valuesOf(close),
    })
    if (row?.closed === true) return true
    // The attempt was opened by a transaction that ended after this statement had begun, so the next one sees it.
    if (row?.isOpen !== true) return false
  }
  return false
}

/**
 * Closes an attempt as unknown if it is lost (`lostSql`), and makes its task due for a check at once. `witness` is the
 * process that says so, which must have been steady itself. Returns whether the attempt was closed now.
 */
export async function loseAttempt(
  pool: Pool,
  { taskId, n, witness }: { readonly taskId: string; readonly n: number; readonly witness: string },
): Promise<boolean> {
  const evidence = { reason: 'worker_lost' } as const
  const [row] = await runStatement<{ closed: boolean }>(pool, {
    name: 'lose-attempt',
    text: loseSql,
    values: [...valuesOf({ taskId, n, class: 'unknown', evidence }), witness],
  })
  return row?.closed === true
}

function valuesOf(close: AttemptClose): unknown[] {
  const { taskId, n, evidence, retryAfterMs, nativeRejection, concurrencyMax } = close
  const cooldown = cooldownAfter({
    class: close.class,
    reason: evidence.reason,
    retryAfterMs,
    concurrencyMax,
  })
  return [
    taskId,
    n,
    close.class,
    ...evidenceOf(evidence),
    retryAfterMs === undefined ? null : Math.round(retryAfterMs),
    nativeRejection === undefined ? null : JSON.stringify(nativeRejection),
    close.answerId ?? null,
    cooldown === undefined ? null : JSON.stringify(cooldown),
    evidence.vendorCode ?? null,
  ]
}

/**
 * Closes attempt $2 when it is open, whatever the task's status. The task is locked first (`locked`), and every other
 * part reads from it, so that this statement and `settleTask` cannot deadlock.
 */
const closeSql = closeWhere('true', 'for update', afterCloseSql, 'clock_timestamp()')

/**
 * Leaves the task out when it is locked, because after a wait this statement would still see the beats from before the
 * wait. The worker may live after all and store its answer, so the answer of an ended task is swept as late as `tailSql`
 * sweeps it.
 */
const loseSql = closeWhere(
  `${lostSql} and ${steadySql('$13')}`,
  'for update skip locked',
  'clock_timestamp()',
  `hard_end_at + ${unusedAnswerKeptSql}`,
)

function closeWhere(condition: string, lock: string, checkAt: string, sweepAfter: string): string {
  return `
  with locked as materialized (
    select task_id as id, open_attempt as was_open, ${publishedSql} as published, completed_at as ended_at, hard_end_at
    from task where task_id = $1 ${lock}
  ), closed as (
    update attempt set closed_at = clock_timestamp(), class = $3, reason = $4, http_status = $5,
      upstream_request_id = $6, latency_ms = $7, retry_after_ms = $8, vendor_code = $12
    from locked
    where task_id = id and n = $2 and closed_at is null
      and ($10::text is null or answer_id = $10) and ${condition}
    returning channel, model, opened_at, was_open
  ), changed as (
    update task set open_attempt = null, work_possible = work_possible or $3 = 'unknown',
      native_rejection = coalesce($9, native_rejection),
      next_check_at = least(next_check_at, ${checkAt})
    from closed where task_id = $1 and was_open = $2
  ), swept as (
    insert into upload as late (upload_id, kind, task_id, sweep_after)
    select answer_id, 'answer', id, ${sweepAfter} from locked join attempt on task_id = id and n = $2
    where ended_at is not null and answer_id is distinct from published
      and ($3 = 'succeeded' or exists (select from closed))
    on conflict (upload_id) do update set sweep_after = excluded.sweep_after, next_try_at = null
  )
  select exists (select from closed) as closed, coalesce(was_open = $2, false) as "isOpen",
    (select begin_cooldown(channel, model, opened_at, $11) from closed where $11::jsonb is not null) as cooled
  from locked`
}
