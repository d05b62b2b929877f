import type { ModelId } from '../models.ts'

/** A channel as all workers know it. Times: epoch milliseconds. */
export type ChannelStatus = {
  readonly name: string
  readonly pausedAtMs?: number
  readonly pauseReason?: string
  /** Open calls with a live lease. */
  readonly inFlight: number
  readonly cooldowns: readonly { readonly model: ModelId; readonly untilMs: number }[]
}

/** The operator's hand on channels; `undefined` for a name that no worker has started with. */
export type ChannelAdmin = {
  readonly listChannels: () => Promise<readonly ChannelStatus[]>
  /** A channel paused before keeps its time and reason. */
  readonly pauseChannel: (name: string, reason: string) => Promise<ChannelStatus | undefined>
  /** Ends the pause and every cooldown, and counts faults anew: the operator has seen to it. */
  readonly resumeChannel: (name: string) => Promise<ChannelStatus | undefined>
}
