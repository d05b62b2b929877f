import { hardEndGraceMs } from '../limits.ts'
import type { Family } from '../models/models.ts'
import type { Channel } from '../upstream/channel.ts'

/** Returns the channels of one family, in the operator's order. */
export function channelsOf(channels: readonly Channel[], family: Family): readonly Channel[] {
  return channels.filter((channel) => channel.family === family)
}

/** Returns the longest timeout of these channels in milliseconds, or 0 when there is no channel. */
export function longestTimeoutMs(channels: readonly Channel[]): number {
  return Math.max(0, ...channels.map(({ timeoutMs }) => timeoutMs))
}

/**
 * Returns the hard end of a task, in milliseconds from its acceptance. A call may start right before the
 * deadline and take `timeoutMs`, the longest timeout of the family's channels. After that, the answer must be
 * stored and settled.
 */
export function hardEndMs(deadlineMs: number, timeoutMs: number): number {
  return deadlineMs + timeoutMs + hardEndGraceMs
}

/**
 * Returns the limit for one execution of the activity `produceImage`, in milliseconds. Long enough for a task
 * of any family.
 */
export function produceTimeoutMs(deadlineMs: number, channels: readonly Channel[]): number {
  return deadlineMs + longestTimeoutMs(channels) + 2 * hardEndGraceMs
}
