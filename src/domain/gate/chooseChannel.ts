import { assertNever } from '../assertNever.ts'
import { syncCooldownWaitMsMax } from '../limits.ts'
import type { Channel } from '../upstream/channel.ts'
import type { ChannelState, TaskFacts, Wait } from './taskFacts.ts'

/** What a task does with its channels. */
export type Choice =
  | { readonly kind: 'call'; readonly channel: Channel }
  | Wait
  /** The wait would be too long. `refusal` is that of the channel that would be free first, if it has refused. */
  | { readonly kind: 'none'; readonly refusal?: ChannelRefusal }

export type ChannelRefusal = { readonly channel: string; readonly leftMs: number }

/** What a choice depends on besides the channels. A task that is not made yet has no times. */
type Chooser = Pick<TaskFacts, 'nowMs' | 'sync'> &
  Partial<Pick<TaskFacts, 'createdAtMs' | 'deadlineAtMs'>>

/**
 * Returns a call on the first channel, in the task's order, that nothing keeps it from. If there is none, returns the
 * shortest wait, and the channels on which the task can stand in line meanwhile: full ones, and those whose cooldown is
 * so short that a client waits for its end. If even this wait is too long for the task, returns `none`. A synchronous
 * task does not wait for a paused channel if another one will be free.
 */
export function chooseChannel(
  chooser: Chooser,
  channels: readonly ChannelState[],
  jitter: number,
): Choice {
  if (channels.length === 0) return { kind: 'none' }
  const free = channels.find(({ bar }) => bar === undefined)
  if (free !== undefined) return { kind: 'call', channel: free.channel }
  const timed = channels.filter(({ bar }) => bar !== 'paused')
  const full = timed.filter(({ bar }) => bar === 'full')
  const inLine = [...full, ...timed.filter((state) => isSoonOver(chooser, state))]
  const [state, wait] = (
    full.length > 0 ? full : chooser.sync && timed.length > 0 ? timed : channels
  )
    .map((each) => [each, waitFor(chooser, each, jitter)] as const)
    .reduce((least, other) => (other[1].delayMs < least[1].delayMs ? other : least))
  if (inLine.length === 0) return waitOrNone(chooser, state, wait)
  return { ...wait, inLine: inLine.map(({ channel }) => channel.name) }
}

/** Whether a client waits for the end of this channel's cooldown. */
function isSoonOver(
  { sync, nowMs, deadlineAtMs = Infinity }: Chooser,
  state: ChannelState,
): boolean {
  const { bar, untilAtMs = nowMs } = state
  const isShort = untilAtMs - nowMs <= syncCooldownWaitMsMax && untilAtMs < deadlineAtMs
  return sync && bar === 'cooldown' && isShort
}

/** After this time in Temporal, a task that has left the line stands in line again. */
const lineAgainMs = 4_000
/**
 * How often a task asks again for a channel that is paused or has a fault. An operator may end that at any time. Old tasks
 * ask less often: each question costs an activity, and thousands of tasks may be waiting.
 */
const pausedCheckMsMin = 15_000
const pausedCheckMsMax = 60_000
/** Limit for the random time after a cooldown, so that the tasks that waited for it do not come all at once. */
const spreadMsMax = 1_000

function waitFor(
  { nowMs, createdAtMs = nowMs }: Chooser,
  state: ChannelState,
  jitter: number,
): Wait {
  const { bar, untilAtMs = nowMs } = state
  const ageMs = nowMs - createdAtMs
  const checkMs = Math.min(Math.max(ageMs / 2, pausedCheckMsMin), pausedCheckMsMax)
  const wait = (reason: Wait['reason'], delayMs: number): Wait => ({
    kind: 'wait',
    delayMs: Math.ceil(delayMs),
    reason,
    channel: state.channel.name,
  })
  switch (bar) {
    case 'paused':
      return wait('channel_paused', checkMs + jitter * 1_000)
    case 'cooldown': {
      const untilMs = Math.max(untilAtMs - nowMs, 1)
      const leftMs = state.fault === true ? Math.min(untilMs, checkMs) : untilMs
      return wait('cooldown', leftMs + jitter * Math.min(leftMs / 4, spreadMsMax))
    }
    case 'declined':
      return wait('declined', untilAtMs - nowMs + jitter * spreadMsMax)
    case 'full':
      return wait('channel_full', lineAgainMs * (1 + jitter))
    case undefined:
      throw new Error('Bug: a task does not wait for a free channel')
    default:
      return assertNever(bar)
  }
}

/**
 * Returns the wait, or `none`: a synchronous caller would wait too long, or the channel's cooldown, or the pause after it
 * declined, ends only after the deadline. Any other wait that would pass the deadline ends at the deadline, where the task
 * ends.
 */
function waitOrNone(
  { nowMs, deadlineAtMs = Infinity, sync }: Chooser,
  { bar, untilAtMs = 0, fault = false, channel }: ChannelState,
  wait: Wait,
): Choice {
  const leftMs = deadlineAtMs - nowMs
  const barMs = bar === 'cooldown' || bar === 'declined' ? untilAtMs - nowMs : 0
  const isTooLong = sync && wait.delayMs > syncCooldownWaitMsMax
  if (!isTooLong && barMs < leftMs) return { ...wait, delayMs: Math.min(wait.delayMs, leftMs) }
  const isRefusal = bar === 'cooldown' && !fault
  return isRefusal
    ? { kind: 'none', refusal: { channel: channel.name, leftMs: barMs } }
    : { kind: 'none' }
}
