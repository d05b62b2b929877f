import type { Channel } from './channel.ts'
import { hardEndGraceMs } from './limits.ts'
import type { Family } from './models.ts'

/** The channels of one family, in the operator's order. */
export function channelsOf(channels: readonly Channel[], family: Family): readonly Channel[] {
  return channels.filter((channel) => channel.family === family)
}

/** The longest that one call on any of these channels may take, in milliseconds; 0 without a channel. */
export function longestTimeoutMs(channels: readonly Channel[]): number {
  return Math.max(0, ...channels.map(({ timeoutMs }) => timeoutMs))
}

/**
 * The hard end of a task, in milliseconds from its acceptance. A call that begins right before the deadline
 * may take `timeoutMs`, the longest timeout of its family's channels; then its answer is stored and settled.
 */
export function hardEndMs(deadlineMs: number, timeoutMs: number): number {
  return deadlineMs + timeoutMs + hardEndGraceMs
}

/** The longest that one run of the activity `produceImage` may take, whatever the task's family. */
export function produceTimeoutMs(deadlineMs: number, channels: readonly Channel[]): number {
  return deadlineMs + longestTimeoutMs(channels) + 2 * hardEndGraceMs
}
