import type { Cooldown, WindowCalls } from './cooldown.ts'
import type { TaskFailure } from '../failure.ts'
import type { Channel } from '../upstream/channel.ts'
import type { OutcomeClass, OutcomeReason } from '../upstream/upstreamCall.ts'

/**
 * What the gate knows about a task when it decides. Instants are epoch milliseconds of PostgreSQL's clock.
 */
export type TaskFacts = {
  readonly nowMs: number
  /** Time since the task was accepted. */
  readonly ageMs: number
  readonly deadlineAtMs: number
  /**
   * A client waits on an open connection. A channel that has refused the task is not called again for it, and the
   * task ends instead of a wait for a channel that is longer than `syncCooldownWaitMsMax`.
   */
  readonly sync: boolean
  /** The earlier attempts, oldest first. All of them are closed. */
  readonly past: readonly PastAttempt[]
  /** The channels of the task's family, in the order in which the task tries them (`orderChannels`). */
  readonly channels: readonly ChannelState[]
  /** The limit `UPSTREAM_CALLS_MAX`: the task ends after this many calls with an unknown outcome. */
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

/** The state of a channel, which all workers share. */
export type ChannelState = {
  readonly channel: Channel
  readonly paused: boolean
  /** The number of open attempts on the whole channel whose lease has not ended. */
  readonly inFlight: number
  /** The number of those attempts that call the task's model. */
  readonly inFlightOfModel: number
  readonly open: WindowCalls
  /**
   * The number of tasks that wait for a place on the channel and whose turn comes before this task's turn.
   */
  readonly ahead: number
  readonly cooldown?: Cooldown
}

export type NextStep =
  /** `cooldown` must be saved together with the new attempt. */
  | { readonly kind: 'call'; readonly channel: Channel; readonly cooldown?: Cooldown }
  | {
      readonly kind: 'wait'
      readonly delayMs: number
      readonly reason: WaitReason
      readonly channel?: string
      /** The cooldown after this task has taken a time slot. It must be saved. */
      readonly cooldown?: Cooldown
      /** Full channels. From now on the task waits in line for a place on each of them. */
      readonly inLine?: readonly string[]
    }
  | { readonly kind: 'end'; readonly failure: TaskFailure }

export type WaitReason =
  | 'cooldown'
  | 'slow_start'
  | 'channel_full'
  | 'channel_paused'
  /** After an unknown outcome, or after a call that this service itself did not make. */
  | 'backoff'
  | 'call_under_way'
  /** The request is large, and the worker has no memory for it now. */
  | 'worker_full'
  /** The worker makes no more calls, because its process stops or its activity has ended. */
  | 'stopping'
  /** The process of the worker has sent no beat lately, so it may not call. */
  | 'not_present'

/** Returns whether the upstream refused the call. */
export function isUpstreamRefusal(attempt: Pick<PastAttempt, 'class' | 'reason'>): boolean {
  return attempt.class === 'refused' && !isOwnFault(attempt)
}

/**
 * Whether we are the reason that the upstream was not called: our blob store could not be read
 * (`inputs_unreadable`), or our worker got the gate's answer too late or not at all (`not_called`). Such an attempt
 * says nothing about the channel.
 */
export function isOwnFault({ reason }: Pick<PastAttempt, 'reason'>): boolean {
  return reason === 'inputs_unreadable' || reason === 'not_called'
}

/** Returns how many attempts ended with this class. */
export function countOf(past: readonly PastAttempt[], outcome: OutcomeClass): number {
  return past.filter((attempt) => attempt.class === outcome).length
}

/**
 * Returns the last attempt with an unknown outcome, if there is one. Paid work may exist on the channel of
 * this attempt. Therefore every later attempt of the task uses the same channel and the same upstream
 * idempotency key.
 */
export function lastUnknown<Past extends { readonly class: string | null }>(
  past: readonly Past[],
): Past | undefined {
  return past.findLast((attempt) => attempt.class === 'unknown')
}

/**
 * Returns whether an attempt of the task may have done paid work upstream. This is so when the attempt's
 * outcome is unknown, or when the attempt is still open (`class` null). Such a task cannot be cancelled, and
 * its failure has `workPossible`.
 */
export function mayHaveWorked(attempts: readonly { readonly class: string | null }[]): boolean {
  return attempts.some((attempt) => attempt.class === null || attempt.class === 'unknown')
}
