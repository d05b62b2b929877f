import { callCheckMs, freeErrorsMax, refusalsMax } from '../limits.ts'
import type { TaskFailure } from '../failure.ts'
import { assertNever } from '../assertNever.ts'
import { isLeftToOthers } from '../upstream/channel.ts'
import type { Choice } from './chooseChannel.ts'
import { chooseChannel } from './chooseChannel.ts'
import type { ChannelState, NextStep, PastAttempt, TaskFacts } from './taskFacts.ts'
import {
  countClosed,
  isFreeError,
  isOwnFault,
  isUpstreamRefusal,
  possibleAnswers,
} from './taskFacts.ts'
import {
  deadlineFailure,
  noChannelFailure,
  noWaitFailure,
  refusedFailure,
  rejectedFailure,
  unknownFailure,
} from './taskFailures.ts'

type Terms = {
  /** The limit `UPSTREAM_CALLS_MAX`: the task ends after this many calls with an unknown outcome. */
  readonly callsMax: number
  /** A random number in [0, 1). */
  readonly jitter: number
  /** Answers that were looked for and not found. */
  readonly looked: ReadonlySet<string>
  /** No further call may be made: the task ends when no call is under way and no answer is stored. */
  readonly givenUp: boolean
}

/**
 * Decides the next step of a live task: call a channel, wait, end, or look for a stored answer. A call under way is
 * waited for until its worker or the reconciler closes it. No task ends and none calls again while one of its answers
 * may be stored and was not looked for.
 */
export function nextStep(facts: TaskFacts, terms: Terms): NextStep {
  const answerId = possibleAnswers(facts).find((each) => !terms.looked.has(each))
  if (answerId !== undefined) return { kind: 'look', answerId }
  const { open } = facts
  if (open !== undefined) {
    if (facts.nowMs >= facts.hardEndAtMs) return end(deadlineFailure(facts))
    const { channel } = open
    return { kind: 'wait', delayMs: callCheckMs, reason: 'call_under_way', channel }
  }
  const failure = endOf(facts, terms)
  if (failure !== undefined) return end(failure)
  const channels = usableChannels(facts)
  if (isLeftToOthers(facts.model, facts.channels)) return leave(facts)
  if (channels.length === 0) return end(noChannelFailure(facts))
  return backoff(facts, terms.jitter) ?? stepOf(facts, chooseChannel(facts, channels, terms.jitter))
}

const leaveMsMin = 2_000
const leaveMsMax = 60_000

/** Returns the wait after which other workers are told again of a task whose model this one does not know. */
function leave({ nowMs, createdAtMs, deadlineAtMs }: TaskFacts): NextStep {
  const waitMs = Math.min(Math.max((nowMs - createdAtMs) / 10, leaveMsMin), leaveMsMax)
  const delayMs = Math.ceil(Math.min(waitMs, deadlineAtMs - nowMs))
  return { kind: 'wait', delayMs, reason: 'unknown_model' }
}

function stepOf(facts: TaskFacts, choice: Choice): NextStep {
  switch (choice.kind) {
    case 'call':
      return { ...choice, n: facts.attempts + 1 }
    case 'wait':
      return choice
    case 'none':
      return end(noWaitFailure(facts, choice))
    default:
      return assertNever(choice)
  }
}

function end(failure: TaskFailure): NextStep {
  return { kind: 'end', failure }
}

/** Returns the failure of a task that makes no further call, whatever its channels are. */
function endOf(facts: TaskFacts, { callsMax, givenUp }: Terms): TaskFailure | undefined {
  const { past } = facts
  const last = past.at(-1)
  if (last?.class === 'rejected') return rejectedFailure(last, facts)
  if (facts.nowMs >= facts.deadlineAtMs) {
    return isLeftToOthers(facts.model, facts.channels)
      ? unknownFailure(facts)
      : deadlineFailure(facts)
  }
  if (givenUp || callsWithWork(facts) >= callsMax) return unknownFailure(facts)
  if (past.filter(isFreeError).length >= freeErrorsMax) return unknownFailure(facts)
  if (countClosed(past, 'refused') >= refusalsMax) return refusedFailure(facts)
  return undefined
}

/** Returns how many calls may have done work. An answer that an earlier one may still run is none of them. */
function callsWithWork(facts: TaskFacts): number {
  return facts.past.filter((one) => isUnknown(one) && !mayStillRun(facts, one)).length
}

/**
 * Returns whether an answer says that an earlier call may still run (`in_progress`), and came within the timeout of the
 * last call that ended unknown otherwise.
 */
function mayStillRun({ past, channels }: TaskFacts, { reason, closedAtMs }: PastAttempt): boolean {
  if (reason !== 'in_progress') return false
  const call = past.findLast((one) => isUnknown(one) && one.reason !== 'in_progress')
  const timeoutMs = channels.find(({ channel }) => channel.name === call?.channel)?.channel
    .timeoutMs
  return closedAtMs < (call?.openedAtMs ?? 0) + (timeoutMs ?? 0)
}

/**
 * Returns the channels that this task may still use. After an unknown outcome only the channel of that call
 * is left, because it may have done the work. A later refusal does not change this. Channels with a used-up
 * quota or an operator's fault are skipped. A synchronous task does not return to a channel that
 * has refused or declined it. Any other task returns to a channel that has declined it after a pause, three times. Those
 * whose vendor failed least at the task come first.
 */
function usableChannels({ past, sync, channels, nowMs }: TaskFacts): readonly ChannelState[] {
  const tied = past.findLast((attempt) => attempt.class === 'unknown')?.channel
  const skips = (attempt: PastAttempt) =>
    attempt.class === 'exhausted' ||
    attempt.class === 'operator_fault' ||
    (sync && (attempt.class === 'declined' || isUpstreamRefusal(attempt)))
  const skipped = new Set(past.filter(skips).map(({ channel }) => channel))
  const failed = past.filter(isFreeError)
  const failuresOf = ({ channel }: ChannelState) =>
    failed.filter((one) => one.channel === channel.name).length
  const leastFirst = channels.toSorted((one, other) => failuresOf(one) - failuresOf(other))
  return leastFirst.flatMap((state) => {
    const { name } = state.channel
    if (skipped.has(name) || (tied !== undefined && name !== tied)) return []
    const declines = past.filter((one) => one.class === 'declined' && one.channel === name)
    const last = declines.at(-1)
    if (last === undefined) return [state]
    const pauseMs = declinePausesMs[declines.length - 1]
    if (pauseMs === undefined) return []
    const untilAtMs = last.closedAtMs + pauseMs
    return [untilAtMs > nowMs ? { ...state, bar: 'declined', untilAtMs } : state]
  })
}

/**
 * The pauses after which a channel that has declined a task is tried again. What declines may pass, such as the page of
 * an edge in front of the vendor, and ten seconds of such pages must not end a queue.
 */
const declinePausesMs: readonly number[] = [30_000, 2 * 60_000, 8 * 60_000]

const backoffMsFirst = 1_000
const backoffMsMax = 30_000
/** How often the upstream is asked again while it may still run an earlier call. */
const inProgressMs = 15_000

/**
 * Returns the pause after an unknown outcome, an error that is free, or a call that we ourselves did not make. The pause after an
 * unknown outcome lasts at least as long as the upstream asked for. If that is beyond the task's deadline, returns
 * the end of the task. Returns `undefined` when no pause is needed or the pause is over.
 */
function backoff(facts: TaskFacts, jitter: number): NextStep | undefined {
  const last = facts.past.at(-1)
  if (last === undefined) return undefined
  const kind = [isOwnFault, isFreeError, isUnknown].find((each) => each(last))
  if (kind === undefined) return undefined
  const tries = kind === isUnknown ? callsWithWork(facts) : facts.past.filter(kind).length
  const usualMs = Math.min(backoffMsFirst * 4 ** (tries - 1), backoffMsMax)
  const leastMs = (mayStillRun(facts, last) ? inProgressMs : usualMs) * (1 + jitter / 4)
  const pauseMs = Math.max(leastMs, last.retryAfterMs ?? 0)
  const delayMs = Math.ceil(last.closedAtMs + pauseMs - facts.nowMs)
  if (delayMs <= 0) return undefined
  const leftMs = facts.deadlineAtMs - facts.nowMs
  if (delayMs >= leftMs && pauseMs > leastMs) return end(unknownFailure(facts))
  const { channel } = last
  return { kind: 'wait', delayMs: Math.min(delayMs, leftMs), reason: 'backoff', channel }
}

function isUnknown({ class: outcome }: PastAttempt): boolean {
  return outcome === 'unknown'
}
