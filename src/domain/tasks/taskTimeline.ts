import { defined } from '../defined.ts'
import type { AttemptDetail, TaskDetail } from '../ports/taskAdmin.ts'
import type { Delivery } from '../webhooks/delivery.ts'

/** One event of a task. The names in `detail` are JSON names. */
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
    | 'webhook'
  readonly detail: Readonly<Record<string, string | number>>
}

const ledgerEvent = { hold: 'held', settle: 'settled', release: 'released' } as const

/**
 * Returns the events of a task in the order of time. They come from the task's row, attempts and ledger rows,
 * not from Temporal, so they are complete as long as the task's record exists. When two events have the same
 * instant, the cause stands before the effect.
 */
export function taskTimeline(detail: TaskDetail): readonly TimelineEvent[] {
  const events = [
    ...acceptance(detail),
    ...detail.attempts.flatMap(attemptEvents),
    ...ledgerEvents(detail),
    ...endOf(detail),
    ...expiryOf(detail),
    ...detail.deliveries.map(deliveryEvent),
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
  // Starts are recorded in batches, a moment later. Therefore the first attempt can be older than the
  // recorded start.
  const atMs = Math.min(startedAtMs, detail.attempts[0]?.openedAtMs ?? startedAtMs)
  return [accepted, { atMs, event: 'started', detail: {} }]
}

function attemptEvents(attempt: AttemptDetail): readonly TimelineEvent[] {
  const { n, channel, processId, via, openedAtMs, closedAtMs } = attempt
  const opened: TimelineEvent = {
    atMs: openedAtMs,
    event: 'attempt_opened',
    detail: { attempt: n, channel, worker: processId, via },
  }
  if (closedAtMs === undefined) return [opened]
  // The attempt of a succeeded call closes only after its answer is stored.
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
 * Returns the events of the ledger rows. The statement that ends a task also ends its hold, so a settlement or a
 * release has the instant of the task's end.
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

/** Returns the event of one delivery. Its time is that of the last try, or the delivery's creation before any try. */
function deliveryEvent(delivery: Delivery): TimelineEvent {
  const { deliveryId, webhookId, status, attempts, createdAtMs } = delivery
  const last = attempts.at(-1)
  return {
    atMs: last?.atMs ?? createdAtMs,
    event: 'webhook',
    detail: {
      webhook: webhookId,
      delivery: deliveryId,
      status,
      tries: attempts.length,
      ...defined({ http_status: last?.httpStatus, error: last?.error }),
    },
  }
}
