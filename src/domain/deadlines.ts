import type { Channel } from './channel.ts'
import { hardEndGraceMs } from './limits.ts'
import type { Family } from './models.ts'

/** The channels of one family, in the operator's order. */
export function channelsOf(channels: readonly Channel[], family: Family): readonly Channel[] {
  return channels.filter((channel) => channel.family === family)
}

/** The longest timeout of these channels in milliseconds; 0 without a channel. */
export function longestTimeoutMs(channels: readonly Channel[]): number {
  return Math.max(0, ...channels.map(({ timeoutMs }) => timeoutMs))
}

/**
 * The hard end of a task, in milliseconds from its acceptance. A call that starts right before the deadline
 * can take `timeoutMs`, the longest timeout of the family's channels. Then its answer is stored and settled.
 */
export function hardEndMs(deadlineMs: number, timeoutMs: number): number {
  return deadlineMs + timeoutMs + hardEndGraceMs
}

/** The longest time of one run of the activity `produceImage`, for a task of any family. */
export function produceTimeoutMs(deadlineMs: number, channels: readonly Channel[]): number {
  return deadlineMs + longestTimeoutMs(channels) + 2 * hardEndGraceMs
}
