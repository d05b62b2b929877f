import { syncCooldownWaitMsMax } from '../limits.ts'
import { admit, isPast } from './cooldown.ts'
import { outOfChannels, waitFailure } from './endings.ts'
import type { ChannelState, NextStep, TaskFacts } from './taskFacts.ts'

type Wait = Extract<NextStep, { kind: 'wait' }>

/** A backlog that waits for an operator asks ever less often: each asking is a run of its activity. */
const pausedCheckMsMin = 15_000
const pausedCheckMsMax = 60_000
/** Who is first in line asks this often, the others less: a free place is not long without a call. */
const placeCheckMs = 100
const placeCheckMsMax = 1_000

/**
 * The first channel, in the operator's order, that is neither paused, full nor cooling down; else the
 * shortest wait, or the end where a wait is too long for the task (design 1.6, 1.8, 1.13, 1.14).
 */
export function chooseChannel(facts: TaskFacts, channels: readonly ChannelState[]): NextStep {
  const waits: Wait[] = []
  for (const state of channels) {
    const step = tryChannel(facts, state)
    if (step.kind === 'call') return step
    waits.push(step)
  }
  const wait = waitable(facts, waits).reduce((least, other) =>
    other.delayMs < least.delayMs ? other : least,
  )
  const inLine = waits.flatMap(({ reason, channel = [] }) =>
    reason === 'channel_full' ? channel : [],
  )
  return boundedWait(facts, { ...wait, ...(inLine.length === 0 ? {} : { inLine }) })
}

/** Nobody who holds a connection open waits for an operator, where a channel says itself when it is free. */
function waitable({ sync }: TaskFacts, waits: readonly Wait[]): readonly Wait[] {
  const timed = waits.filter(({ reason }) => reason !== 'channel_paused')
  return sync && timed.length > 0 ? timed : waits
}

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

function pausedCheckMs({ ageMs }: TaskFacts): number {
  return Math.min(Math.max(ageMs / 2, pausedCheckMsMin), pausedCheckMsMax)
}

/** A wait that passes the deadline is the end now; a synchronous caller does not wait long at all. */
function boundedWait(facts: TaskFacts, wait: Wait): NextStep {
  const leftMs = facts.deadlineAtMs - facts.nowMs
  const cooldownLeftMs = (wait.cooldown?.untilMs ?? facts.nowMs) - facts.nowMs
  if (facts.sync && wait.delayMs > syncCooldownWaitMsMax) {
    if (wait.reason === 'channel_paused') return { kind: 'end', failure: outOfChannels(facts) }
    return { kind: 'end', failure: waitFailure(facts, wait.channel, wait.delayMs) }
  }
  if (cooldownLeftMs >= leftMs) {
    return { kind: 'end', failure: waitFailure(facts, wait.channel, cooldownLeftMs) }
  }
  return { ...wait, delayMs: Math.min(wait.delayMs, leftMs) }
}
