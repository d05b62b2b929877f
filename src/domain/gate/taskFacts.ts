import type { TaskFailure } from '../failure.ts'
import type { Family, ModelId } from '../models/models.ts'
import type { Channel } from '../upstream/channel.ts'
import type { OutcomeClass, OutcomeReason } from '../upstream/upstreamCall.ts'

/**
 * What is known about a live task when its next step is decided. Instants are epoch milliseconds of PostgreSQL's clock.
 */
export type TaskFacts = {
  readonly nowMs: number
  readonly createdAtMs: number
  readonly deadlineAtMs: number
  readonly hardEndAtMs: number
  readonly accountId: string
  readonly family: Family
  readonly model: ModelId
  /**
   * A client waits on an open connection. A channel that has refused the task is not called again for it, and the
   * task ends instead of a wait for a channel that is longer than `syncCooldownWaitMsMax`.
   */
  readonly sync: boolean
  /** The bytes of the stored request, which is not read here. */
  readonly requestBytes: number
  /** How many attempts were opened. */
  readonly attempts: number
  /** The closed attempts, oldest first. */
  readonly past: readonly PastAttempt[]
  readonly open?: OpenCall
  /** The channels that take the task's model, in the order in which the task tries them (`orderChannels`). */
  readonly channels: readonly ChannelState[]
}

/** A closed attempt of the task. */
export type PastAttempt = {
  readonly n: number
  readonly channel: string
  readonly answerId: string
  readonly class: OutcomeClass
  readonly reason: OutcomeReason
  readonly openedAtMs: number
  readonly closedAtMs: number
  readonly retryAfterMs?: number
}

/** The open attempt of the task. */
export type OpenCall = {
  readonly n: number
  readonly channel: string
  readonly answerId: string
  /** Its process is silent, or its lease is over. Otherwise its process will settle or close it. */
  readonly lost: boolean
}

/**
 * What keeps the task's model from a channel now: the SQL function `channel_bar`. `untilAtMs` and `fault` tell about a
 * cooldown. `declined` keeps this task alone from it, until `untilAtMs`.
 */
export type ChannelState = {
  readonly channel: Channel
  readonly bar?: 'paused' | 'full' | 'cooldown' | 'declined'
  readonly untilAtMs?: number
  readonly fault?: boolean
}

export type NextStep =
  /** Open attempt `n` on the channel. */
  | { readonly kind: 'call'; readonly n: number; readonly channel: Channel }
  /** See whether this answer is stored, and settle it if so. */
  | { readonly kind: 'look'; readonly answerId: string }
  | Wait
  | { readonly kind: 'end'; readonly failure: TaskFailure }

export type Wait = {
  readonly kind: 'wait'
  readonly delayMs: number
  readonly reason: WaitReason
  readonly channel?: string
  /**
   * Channels on which the task can get a place at any moment, or, when all of them cool down, after the delay. It waits
   * in line for them (`places.ts`).
   */
  readonly inLine?: readonly string[]
}

export type WaitReason =
  | 'cooldown'
  /** The channel has declined the task. */
  | 'declined'
  | 'channel_full'
  | 'channel_paused'
  /** After an unknown outcome, or after a call that this service itself did not make. */
  | 'backoff'
  | 'call_under_way'
  /** The worker makes no more calls, because its process stops or its activity has ended. */
  | 'stopping'
  /** The process of the worker has sent no beat lately, so it may not call. */
  | 'not_present'
  /** Other large requests come first. */
  | 'large_request'
  /** This worker's file does not name the model. Another worker's may. */
  | 'unknown_model'

/** Returns whether the upstream refused the call. */
export function isUpstreamRefusal(attempt: Pick<PastAttempt, 'class' | 'reason'>): boolean {
  return attempt.class === 'refused' && !isOwnFault(attempt) && !isFreeError(attempt)
}

/**
 * Whether the vendor failed, and did no work: `errorsAreFree` of its channel. The prompt may be what it fails at, so
 * only the task waits.
 */
export function isFreeError(attempt: Pick<PastAttempt, 'class' | 'reason'>): boolean {
  return attempt.class === 'refused' && attempt.reason === 'server_error'
}

/**
 * Whether we are the reason that the upstream was not called: our blob store could not be read
 * (`inputs_unreadable`), or our worker opened the attempt and could not call in time (`not_called`). Such an attempt
 * says nothing about the channel.
 */
export function isOwnFault({ reason }: Pick<PastAttempt, 'reason'>): boolean {
  return reason === 'inputs_unreadable' || reason === 'not_called'
}

/** Returns how many attempts ended with this class. */
export function countClosed(past: readonly PastAttempt[], outcome: OutcomeClass): number {
  return past.filter((attempt) => attempt.class === outcome).length
}

/**
 * Returns whether an attempt of the task may have done paid work upstream. The failure of such a task has
 * `workPossible`.
 */
export function mayHaveWorked({ past, open }: Pick<TaskFacts, 'past' | 'open'>): boolean {
  return open !== undefined || countClosed(past, 'unknown') > 0
}

/**
 * Returns the answers that may be stored and that nobody else settles, the newest first. The worker of an attempt that is
 * lost, closed or still open, may have stored its answer and died. A worker that lives settles its answer itself, unless
 * it cannot until the hard end. Every other attempt was closed by a worker that had none.
 */
export function possibleAnswers(
  facts: Pick<TaskFacts, 'nowMs' | 'hardEndAtMs' | 'past' | 'open'>,
): string[] {
  const { past, open } = facts
  const lost = past.filter(({ reason }) => reason === 'worker_lost')
  const isLeft = open?.lost === true || facts.nowMs >= facts.hardEndAtMs
  return [...lost, ...(open !== undefined && isLeft ? [open] : [])]
    .map(({ answerId }) => answerId)
    .toReversed()
}
