import type { Cooldown, WindowCalls } from './cooldown.ts'
import type { TaskFailure } from '../failure.ts'
import type { Channel } from '../upstream/channel.ts'
import type { OutcomeClass, OutcomeReason } from '../upstream/upstreamCall.ts'

/** What the gate knows of a task when it decides. Instants are epoch milliseconds of PostgreSQL's clock. */
export type TaskFacts = {
  readonly nowMs: number
  /** Since the task was accepted. */
  readonly ageMs: number
  readonly deadlineAtMs: number
  /** A client holds a connection open: it gets a refusal at once instead of waiting. */
  readonly sync: boolean
  /** Oldest first; all closed. */
  readonly past: readonly PastAttempt[]
  /** The channels of the task's family, in the operator's order. */
  readonly channels: readonly ChannelState[]
  /** `UPSTREAM_CALLS_MAX`: how many calls of one task may end with an unknown outcome. */
  readonly callsMax: number
  /** A random number in [0, 1). */
  readonly jitter: number
}

/** An earlier attempt of the task. */
export type PastAttempt = {
  readonly channel: string
  readonly class: OutcomeClass
  readonly reason: OutcomeReason
  readonly closedAtMs: number
  readonly retryAfterMs?: number
}

/** A channel, with what all workers together know of it. */
export type ChannelState = {
  readonly channel: Channel
  readonly paused: boolean
  /** Open attempts with a live lease, on the whole channel. */
  readonly inFlight: number
  /** The same for the task's model alone. */
  readonly inFlightOfModel: number
  readonly open: WindowCalls
  /** Tasks that wait in line for a place on the channel and come before this one. */
  readonly ahead: number
  readonly cooldown?: Cooldown
}

export type NextStep =
  /** `cooldown`: to be saved with the new attempt. */
  | { readonly kind: 'call'; readonly channel: Channel; readonly cooldown?: Cooldown }
  | {
      readonly kind: 'wait'
      readonly delayMs: number
      readonly reason: WaitReason
      readonly channel?: string
      /** To be saved: the cooldown after this task took a time slot. */
      readonly cooldown?: Cooldown
      /** Full channels, for whose next place the task is in line from now on. */
      readonly inLine?: readonly string[]
    }
  | { readonly kind: 'end'; readonly failure: TaskFailure }

export type WaitReason =
  | 'cooldown'
  | 'slow_start'
  | 'channel_full'
  | 'channel_paused'
  | 'backoff'
  | 'call_under_way'

/** Whether the upstream refused. */
export function isUpstreamRefusal(attempt: Pick<PastAttempt, 'class' | 'reason'>): boolean {
  return attempt.class === 'refused' && !isOwnFault(attempt)
}

/**
 * Whether we are the reason that the upstream was not called: our blob store could not be read
 * (`inputs_unreadable`), or our worker was too slow (`not_called`). Such an attempt says nothing about
 * the channel.
 */
export function isOwnFault({ reason }: Pick<PastAttempt, 'reason'>): boolean {
  return reason === 'inputs_unreadable' || reason === 'not_called'
}

/** How many attempts ended with this class. */
export function countOf(past: readonly PastAttempt[], outcome: OutcomeClass): number {
  return past.filter((attempt) => attempt.class === outcome).length
}

/**
 * The last attempt with an unknown outcome, if there is one. Paid work may exist on its channel, so every
 * later attempt of the task uses the same channel and the same upstream idempotency key.
 */
export function lastUnknown<Past extends { readonly class: string | null }>(
  past: readonly Past[],
): Past | undefined {
  return past.findLast((attempt) => attempt.class === 'unknown')
}

/**
 * Whether an attempt of the task may have done paid work upstream: its outcome is unknown, or it is still
 * open (`class` null). Such a task cannot be cancelled, and its failure has `workPossible`.
 */
export function mayHaveWorked(attempts: readonly { readonly class: string | null }[]): boolean {
  return attempts.some((attempt) => attempt.class === null || attempt.class === 'unknown')
}
