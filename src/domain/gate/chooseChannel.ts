import { admit, isPast } from './cooldown.ts'
import { syncCooldownWaitMsMax } from '../limits.ts'
import type { ChannelState, NextStep, TaskFacts } from './taskFacts.ts'
import { noChannelFailure, waitTooLongFailure } from './taskFailures.ts'

type Wait = Extract<NextStep, { kind: 'wait' }>

/**
 * Returns a call on the first channel, in the task's order, that is not paused, has a free place, and is not held
 * back by a cooldown or its slow start. If there is no such channel, returns the shortest wait. If even this wait
 * is too long for the task, returns the end of the task.
 */
export function chooseChannel(facts: TaskFacts, channels: readonly ChannelState[]): NextStep {
  const waits: Wait[] = []
  for (const state of channels) {
    const step = tryChannel(facts, state)
    if (step.kind === 'call') return step
    waits.push(step)
  }
  const wait = acceptableWaits(facts, waits).reduce((least, other) =>
    other.delayMs < least.delayMs ? other : least,
  )
  const inLine = waits.flatMap(({ reason, channel = [] }) =>
    reason === 'channel_full' ? channel : [],
  )
  return waitOrEnd(facts, { ...wait, ...(inLine.length === 0 ? {} : { inLine }) })
}

/**
 * How often a task asks again for a place on a full channel. The first task in line asks every 100 ms. Each task
 * behind it asks less often, but at least once a second.
 */
const placeCheckMs = 100
const placeCheckMsMax = 1_000

function tryChannel(
  facts: TaskFacts,
  state: ChannelState,
): Wait | Extract<NextStep, { kind: 'call' }> {
  const { channel, cooldown } = state
  const jitterMs = (mostMs: number) => Math.ceil(facts.jitter * mostMs)
  if (state.paused) {
    const delayMs = pausedCheckMs(facts) + jitterMs(1_000)
    return { kind: 'wait', delayMs, reason: 'channel_paused', channel: channel.name }
  }
  const behind = state.inFlight + state.ahead - channel.concurrencyMax
  if (behind >= 0) {
    const checkMs = Math.min(placeCheckMs * (behind + 1), placeCheckMsMax)
    const delayMs = checkMs - jitterMs(checkMs / 4)
    return { kind: 'wait', delayMs, reason: 'channel_full', channel: channel.name }
  }
  const { nowMs, jitter } = facts
  if (cooldown === undefined || isPast(cooldown, nowMs)) return { kind: 'call', channel }
  const admission = admit(cooldown, { nowMs, open: state.open, jitter })
  if (admission.kind === 'admitted') return { kind: 'call', channel, cooldown: admission.next }
  const { delayMs, reason, next } = admission
  return { kind: 'wait', delayMs, reason, channel: channel.name, cooldown: next }
}

/**
 * How often a task asks again for a paused channel. Only an operator ends a pause, so old tasks ask less often: each
 * question costs an activity, and thousands of tasks may be waiting.
 */
const pausedCheckMsMin = 15_000
const pausedCheckMsMax = 60_000

function pausedCheckMs({ ageMs }: TaskFacts): number {
  return Math.min(Math.max(ageMs / 2, pausedCheckMsMin), pausedCheckMsMax)
}

/**
 * Returns the waits that the task may choose from. A synchronous task does not wait for a paused channel if another
 * channel is only full or cooling down.
 */
function acceptableWaits({ sync }: TaskFacts, waits: readonly Wait[]): readonly Wait[] {
  const timed = waits.filter(({ reason }) => reason !== 'channel_paused')
  return sync && timed.length > 0 ? timed : waits
}

/**
 * Returns the wait, or the end of the task. The task ends when a synchronous caller would wait too long, or
 * when the channel's cooldown ends only after the deadline. Any other wait that would pass the deadline ends at the
 * deadline, where the gate ends the task.
 */
function waitOrEnd(facts: TaskFacts, wait: Wait): NextStep {
  const leftMs = facts.deadlineAtMs - facts.nowMs
  const cooldownLeftMs = (wait.cooldown?.untilMs ?? facts.nowMs) - facts.nowMs
  if (facts.sync && wait.delayMs > syncCooldownWaitMsMax) {
    if (wait.reason === 'channel_paused') return { kind: 'end', failure: noChannelFailure(facts) }
    return { kind: 'end', failure: waitTooLongFailure(facts, wait.channel, wait.delayMs) }
  }
  if (cooldownLeftMs >= leftMs) {
    return { kind: 'end', failure: waitTooLongFailure(facts, wait.channel, cooldownLeftMs) }
  }
  return { ...wait, delayMs: Math.min(wait.delayMs, leftMs) }
}
