import type { ModelId } from '../models.ts'

/** The state of a channel, which all workers share. */
export type ChannelStatus = {
  readonly name: string
  readonly pausedAtMs?: number
  readonly pauseReason?: string
  /** Calls under way: open attempts with a valid lease. */
  readonly inFlight: number
  /** Models that may not be called on the channel until `untilAtMs`. */
  readonly cooldowns: readonly { readonly model: ModelId; readonly untilAtMs: number }[]
}

/**
 * The operator's commands on channels. A channel is known from the first start of a worker that has it
 * in its configuration. Implemented in `src/store/channels/`.
 */
export type ChannelAdmin = {
  /** Every known channel, in the order of their names. */
  readonly listChannels: () => Promise<readonly ChannelStatus[]>
  /**
   * Pauses a channel: no call begins on it until it is resumed. A channel that is paused already keeps
   * its time and reason. `undefined`: the channel is not known.
   */
  readonly pauseChannel: (name: string, reason: string) => Promise<ChannelStatus | undefined>
  /**
   * Ends the pause and all cooldowns of a channel in one transaction, and sets its count of faults to
   * 0. `undefined`: the channel is not known.
   */
  readonly resumeChannel: (name: string) => Promise<ChannelStatus | undefined>
}
