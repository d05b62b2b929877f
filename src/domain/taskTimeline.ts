import { defined } from './defined.ts'
import type { AttemptDetail, TaskDetail } from './ports/taskAdmin.ts'

/** One thing that happened to a task. `detail`: what is known of it, by names fit for JSON. */
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

const ends = { hold: 'held', settle: 'settled', release: 'released' } as const

/**
 * What happened to a task, in order: from its row, its attempts and its ledger rows, so it is told as long
 * as the record lives, whatever Temporal remembers. Events of one moment keep the order of their cause.
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
  // Starts are marked in batches, some moments later: the first attempt may be older than its mark.
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
  // An attempt closes as succeeded by what lies in the blob store: the answer was stored right before.
  const stored: TimelineEvent = { atMs: closedAtMs, event: 'stored', detail: { attempt: n } }
  const closed = { atMs: closedAtMs, event: 'attempt_closed', detail: outcomeOf(attempt) } as const
  return attempt.class === 'succeeded' ? [opened, stored, closed] : [opened, closed]
}

function outcomeOf(attempt: AttemptDetail): TimelineEvent['detail'] {
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

/** The end of a hold is one with the task's end; its row bears the time at which that transaction began. */
function ledgerEvents({ entries, task }: TaskDetail): readonly TimelineEvent[] {
  return entries.map(({ kind, atMs, credits }) => ({
    atMs: kind === 'hold' ? atMs : (task.completedAtMs ?? atMs),
    event: ends[kind],
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
