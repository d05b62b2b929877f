import type { Channel } from './channel.ts'
import type { Cooldown, WindowCalls } from './cooldown.ts'
import { chooseChannel } from './chooseChannel.ts'
import { refusalsMax } from './limits.ts'
import type { PastAttempt } from './pastAttempt.ts'
import { countOf, isUpstreamRefusal, openChain } from './pastAttempt.ts'
import { deadlineFailure, outOfChannels, refusalFailure, rejection } from './taskEnding.ts'
import type { TaskFailure } from './taskFailure.ts'

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
  readonly deadlineMs: number
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

const backoffMsFirst = 1_000
const backoffMsMax = 30_000

/** What a task does next, from all that is known: the gate's decision (design 1.6 to 1.8, 1.10, 1.13). */
export function nextStep(facts: TaskFacts): NextStep {
  const last = facts.past.at(-1)
  if (last?.class === 'rejected') return { kind: 'end', failure: rejection(last, facts) }
  if (facts.nowMs >= facts.deadlineMs) return { kind: 'end', failure: deadlineFailure(facts) }
  if (countOf(facts.past, 'unknown') >= facts.callsMax) {
    return {
      kind: 'end',
      failure: { code: 'upstream_error', cause: 'unknown', workPossible: true },
    }
  }
  if (countOf(facts.past, 'refused') >= refusalsMax)
    return { kind: 'end', failure: refusalFailure(facts) }
  const channels = candidates(facts)
  if (channels.length === 0) return { kind: 'end', failure: outOfChannels(facts) }
  return backoffAfter(facts, last) ?? chooseChannel(facts, channels)
}

/**
 * Channels this task may still use. An unknown outcome never moves on, nor does a refusal after it: the
 * work may exist over there. A channel that is out of quota or not ours is skipped; a synchronous task
 * asks each channel once.
 */
function candidates(facts: TaskFacts): readonly ChannelState[] {
  const tied = openChain(facts.past)?.channel
  const skipped = new Set(
    facts.past
      .filter(
        (attempt) =>
          attempt.class === 'exhausted' ||
          attempt.class === 'operator_fault' ||
          (facts.sync && isUpstreamRefusal(attempt)),
      )
      .map((attempt) => attempt.channel),
  )
  return facts.channels.filter(
    ({ channel: { name } }) => !skipped.has(name) && (tied === undefined || name === tied),
  )
}

/** After an unknown outcome, and while our own store keeps the inputs from us: no channel asks for it. */
function backoffAfter(facts: TaskFacts, last: PastAttempt | undefined): NextStep | undefined {
  if (last === undefined) return undefined
  const unreadable = last.reason === 'inputs_unreadable'
  if (last.class !== 'unknown' && !unreadable) return undefined
  const tries = unreadable
    ? facts.past.filter(({ reason }) => reason === 'inputs_unreadable').length
    : countOf(facts.past, 'unknown')
  const exponent = tries - 1
  const backoffMs = Math.min(backoffMsFirst * 4 ** exponent, backoffMsMax) * (1 + facts.jitter / 4)
  const delayMs = Math.ceil(last.closedAtMs + backoffMs - facts.nowMs)
  if (delayMs <= 0) return undefined
  const leftMs = facts.deadlineMs - facts.nowMs
  return {
    kind: 'wait',
    delayMs: Math.min(delayMs, leftMs),
    reason: 'backoff',
    channel: last.channel,
  }
}
