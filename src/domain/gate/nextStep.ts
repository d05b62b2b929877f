import { refusalsMax } from '../limits.ts'
import { chooseChannel } from './chooseChannel.ts'
import { deadlineFailure, outOfChannels, refusalFailure, rejection } from './endings.ts'
import type { ChannelState, NextStep, PastAttempt, TaskFacts } from './taskFacts.ts'
import { countOf, isUpstreamRefusal, openChain } from './taskFacts.ts'

const backoffMsFirst = 1_000
const backoffMsMax = 30_000

/** What a task does next, from all that is known: the gate's decision (design 1.6 to 1.8, 1.10, 1.13). */
export function nextStep(facts: TaskFacts): NextStep {
  const last = facts.past.at(-1)
  if (last?.class === 'rejected') return { kind: 'end', failure: rejection(last, facts) }
  if (facts.nowMs >= facts.deadlineAtMs) return { kind: 'end', failure: deadlineFailure(facts) }
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
  const leftMs = facts.deadlineAtMs - facts.nowMs
  return {
    kind: 'wait',
    delayMs: Math.min(delayMs, leftMs),
    reason: 'backoff',
    channel: last.channel,
  }
}
