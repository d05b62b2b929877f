import { chooseChannel } from './chooseChannel.ts'
import { refusalsMax } from '../limits.ts'
import type { ChannelState, NextStep, PastAttempt, TaskFacts } from './taskFacts.ts'
import { countOf, isOwnFault, isUpstreamRefusal, lastUnknown } from './taskFacts.ts'
import {
  deadlineFailure,
  noChannelFailure,
  refusedFailure,
  rejectedFailure,
  unknownFailure,
} from './taskFailures.ts'

/**
 * Decides the next step of a live task that has no open attempt. The task calls a channel, waits, or ends.
 *
 * The SQL function `begin_first_calls` (`src/store/schema/migrations`) repeats the conditions for a first
 * call, because it opens the most frequent attempts in one statement. If you add a condition here, add it
 * there too. The property test `test/store/gateAgrees.test.ts` compares both.
 */
export function nextStep(facts: TaskFacts): NextStep {
  const last = facts.past.at(-1)
  if (last?.class === 'rejected') return { kind: 'end', failure: rejectedFailure(last, facts) }
  if (facts.nowMs >= facts.deadlineAtMs) return { kind: 'end', failure: deadlineFailure(facts) }
  if (countOf(facts.past, 'unknown') >= facts.callsMax) {
    return { kind: 'end', failure: unknownFailure }
  }
  if (countOf(facts.past, 'refused') >= refusalsMax) {
    return { kind: 'end', failure: refusedFailure(facts) }
  }
  const channels = usableChannels(facts)
  if (channels.length === 0) return { kind: 'end', failure: noChannelFailure(facts) }
  return backoffAfter(facts, last) ?? chooseChannel(facts, channels)
}

/**
 * Returns the channels that this task may still use. After an unknown outcome only the channel of that call
 * is left, because it may have done the work. A later refusal does not change this. Channels with a used-up
 * quota or an operator's fault are skipped. A synchronous task does not return to a channel that
 * has refused it.
 */
function usableChannels(facts: TaskFacts): readonly ChannelState[] {
  const tied = lastUnknown(facts.past)?.channel
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

const backoffMsFirst = 1_000
const backoffMsMax = 30_000

/**
 * Returns the pause after an unknown outcome, or after a call that we ourselves did not make. The pause after an
 * unknown outcome lasts at least as long as the upstream asked for. If that is beyond the task's deadline, returns
 * the end of the task. Returns `undefined` when no pause is needed or the pause is over.
 */
function backoffAfter(facts: TaskFacts, last: PastAttempt | undefined): NextStep | undefined {
  if (last === undefined) return undefined
  const ownFault = isOwnFault(last)
  if (last.class !== 'unknown' && !ownFault) return undefined
  const tries = ownFault ? facts.past.filter(isOwnFault).length : countOf(facts.past, 'unknown')
  const backoffMs =
    Math.min(backoffMsFirst * 4 ** (tries - 1), backoffMsMax) * (1 + facts.jitter / 4)
  const pauseMs = Math.max(backoffMs, last.retryAfterMs ?? 0)
  const delayMs = Math.ceil(last.closedAtMs + pauseMs - facts.nowMs)
  if (delayMs <= 0) return undefined
  const leftMs = facts.deadlineAtMs - facts.nowMs
  if (delayMs >= leftMs && pauseMs > backoffMs) {
    return { kind: 'end', failure: unknownFailure }
  }
  return {
    kind: 'wait',
    delayMs: Math.min(delayMs, leftMs),
    reason: 'backoff',
    channel: last.channel,
  }
}
