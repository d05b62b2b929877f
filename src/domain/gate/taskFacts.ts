import type { Channel } from '../channel.ts'
import type { TaskFailure } from '../failure.ts'
import type { OutcomeClass, OutcomeReason } from '../upstreamCall.ts'
import type { Cooldown, WindowCalls } from './cooldown.ts'

/** A configured channel that serves the task's family, with what all workers know of it. */
export type ChannelState = {
  readonly channel: Channel
  readonly paused: boolean
  /** Open attempts with a live lease: on the channel, and on the task's model there. */
  readonly inFlight: number
  readonly inFlightOfModel: number
  readonly open: WindowCalls
  /** Tasks in line for a place on the channel whose turn comes before this one's (design 1.14). */
  readonly ahead: number
  readonly cooldown?: Cooldown
}

export type TaskFacts = {
  readonly nowMs: number
  /** Since its acceptance. */
  readonly ageMs: number
  readonly deadlineAtMs: number
  /** Somebody holds a connection open: refusals are passed on instead of waited out (design 1.13). */
  readonly sync: boolean
  readonly past: readonly PastAttempt[]
  /** In the operator's order. */
  readonly channels: readonly ChannelState[]
  /** UPSTREAM_CALLS_MAX. */
  readonly callsMax: number
  /** In [0, 1). */
  readonly jitter: number
}

export type WaitReason =
  | 'cooldown'
  | 'slow_start'
  | 'channel_full'
  | 'channel_paused'
  | 'backoff'
  | 'call_under_way'

export type NextStep =
  | { readonly kind: 'call'; readonly channel: Channel; readonly cooldown?: Cooldown }
  | {
      readonly kind: 'wait'
      readonly delayMs: number
      readonly reason: WaitReason
      readonly channel?: string
      /** The channel's cooldown with this task's slot taken. */
      readonly cooldown?: Cooldown
      /** Channels without a place for it now, where it stands in line from here on. */
      readonly inLine?: readonly string[]
    }
  | { readonly kind: 'end'; readonly failure: TaskFailure }

/** One earlier attempt of the task, closed. Times: epoch milliseconds of the database's clock. */
export type PastAttempt = {
  readonly channel: string
  readonly class: OutcomeClass
  readonly reason: OutcomeReason
  readonly closedAtMs: number
  readonly retryAfterMs?: number
}

/** Refused by the upstream, not by our own blob store before the request was whole. */
export function isUpstreamRefusal(attempt: Pick<PastAttempt, 'class' | 'reason'>): boolean {
  return attempt.class === 'refused' && attempt.reason !== 'inputs_unreadable'
}

export function countOf(past: readonly PastAttempt[], outcome: OutcomeClass): number {
  return past.filter((attempt) => attempt.class === outcome).length
}

/**
 * The unknown outcome that the next call follows up, if any: whatever came after it, paid work may exist
 * over there, so the task stays with that channel and its idempotency key (design 1.7).
 */
export function openChain<Past extends { readonly class: string | null }>(
  past: readonly Past[],
): Past | undefined {
  return past.findLast((attempt) => attempt.class === 'unknown')
}

/**
 * Whether one of a task's attempts may have done paid work upstream: its outcome is unknown, or it is still
 * open (`class` null). Such a task cannot be cancelled, and its failure says `workPossible`.
 */
export function mayHaveWorked(attempts: readonly { readonly class: string | null }[]): boolean {
  return attempts.some((attempt) => attempt.class === null || attempt.class === 'unknown')
}
