import type { Config } from '../config.ts'
import type { Channel } from '../domain/channel.ts'
import { hardEndGraceMs } from '../domain/limits.ts'

/** The slowest call that any of these channels may make. Milliseconds. */
export function longestTimeoutMs(channels: readonly Channel[]): number {
  return Math.max(0, ...channels.map(({ timeoutMs }) => timeoutMs))
}

/** One run of the activity: until the hard end of a task accepted now, with room for storing. */
export function produceTimeoutMs(config: Config, channels: readonly Channel[]): number {
  return config.taskDeadlineSeconds * 1000 + longestTimeoutMs(channels) + 2 * hardEndGraceMs
}
