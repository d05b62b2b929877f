import { defined } from './defined.ts'
import type { AttemptDetail, TaskDetail } from './ports/taskAdmin.ts'

/** One event of a task. `detail` has JSON names. */
export type TimelineEvent = {
  readonly atMs: number
  readonly event:
    | 'accepted'
    | 'held'
    | 'started'
    | 'attempt_opened'
    | 'stored'
    | 'attempt_closed'
    | 'settled'
    | 'released'
    | 'succeeded'
    | 'failed'
    | 'expired'
  readonly detail: Readonly<Record<string, string | number>>
}

const ledgerEvent = { hold: 'held', settle: 'settled', release: 'released' } as const

/**
 * The events of a task in order of time, from its row, attempts and ledger rows. It needs nothing from
 * Temporal, so it is complete as long as the record exists. Events of the same instant keep cause before
 * effect.
 */
export function taskTimeline(detail: TaskDetail): readonly TimelineEvent[] {
  const events = [
    ...acceptance(detail),
    ...detail.attempts.flatMap(attemptEvents),
    ...ledgerEvents(detail),
    ...endOf(detail),
    ...expiryOf(detail),
  ]
  return events.toSorted((a, b) => a.atMs - b.atMs)
}

function acceptance(detail: TaskDetail): readonly TimelineEvent[] {
  const { acceptedAtMs, startedAtMs, route, retryOf } = detail
  const accepted: TimelineEvent = {
    atMs: acceptedAtMs,
    event: 'accepted',
    detail: { route, ...defined({ retry_of: retryOf }) },
  }
  if (startedAtMs === undefined) return [accepted]
  // Starts are recorded in batches, a moment later, so the first attempt can be older than the record.
  const atMs = Math.min(startedAtMs, detail.attempts[0]?.openedAtMs ?? startedAtMs)
  return [accepted, { atMs, event: 'started', detail: {} }]
}

function attemptEvents(attempt: AttemptDetail): readonly TimelineEvent[] {
  const { n, channel, openedAtMs, closedAtMs } = attempt
  const opened: TimelineEvent = {
    atMs: openedAtMs,
    event: 'attempt_opened',
    detail: { attempt: n, channel },
  }
  if (closedAtMs === undefined) return [opened]
  // An attempt closes as succeeded only after its answer is stored.
  const stored: TimelineEvent = { atMs: closedAtMs, event: 'stored', detail: { attempt: n } }
  const closed = {
    atMs: closedAtMs,
    event: 'attempt_closed',
    detail: closedDetail(attempt),
  } as const
  return attempt.class === 'succeeded' ? [opened, stored, closed] : [opened, closed]
}

function closedDetail(attempt: AttemptDetail): TimelineEvent['detail'] {
  const { n, channel, reason, httpStatus, upstreamRequestId, latencyMs, retryAfterMs } = attempt
  return {
    attempt: n,
    channel,
    ...defined({
      class: attempt.class,
      reason,
      http_status: httpStatus,
      upstream_request_id: upstreamRequestId,
      latency_ms: latencyMs,
      retry_after_ms: retryAfterMs,
    }),
  }
}

/**
 * A hold ends in the transaction of the task's end, so both get the same instant. The ledger row has the
 * time at which that transaction began, which can be earlier.
 */
function ledgerEvents({ entries, task }: TaskDetail): readonly TimelineEvent[] {
  return entries.map(({ kind, atMs, credits }) => ({
    atMs: kind === 'hold' ? atMs : (task.completedAtMs ?? atMs),
    event: ledgerEvent[kind],
    detail: { credits },
  }))
}

function endOf({ task }: TaskDetail): readonly TimelineEvent[] {
  const { completedAtMs, failure, asset } = task
  if (completedAtMs === undefined) return []
  if (failure !== undefined) {
    const { code, cause } = failure
    return [{ atMs: completedAtMs, event: 'failed', detail: { code, cause } }]
  }
  const detail = asset === undefined ? {} : { mime_type: asset.mimeType, bytes: asset.bytes }
  return [{ atMs: completedAtMs, event: 'succeeded', detail }]
}

function expiryOf({ task }: TaskDetail): readonly TimelineEvent[] {
  const { expiresAtMs, nowMs } = task
  if (expiresAtMs === undefined || expiresAtMs > nowMs) return []
  return [{ atMs: expiresAtMs, event: 'expired', detail: {} }]
}
