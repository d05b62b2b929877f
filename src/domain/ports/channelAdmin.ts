import type { ModelId } from '../models/models.ts'

/** The state of a channel, which all workers share. */
export type ChannelStatus = {
  readonly name: string
  readonly pausedAtMs?: number
  readonly pauseReason?: string
  /** The number of calls under way: open attempts whose lease has not ended. */
  readonly inFlight: number
  /** Models that may not be called on the channel until `untilAtMs`. */
  readonly cooldowns: readonly { readonly model: ModelId; readonly untilAtMs: number }[]
}

/**
 * The operator's commands on channels. A channel becomes known when a worker first starts with it in the
 * operator's file. Implemented in `src/store/channels/`.
 */
export type ChannelAdmin = {
  /** Returns every known channel, sorted by name. */
  readonly listChannels: () => Promise<readonly ChannelStatus[]>
  /**
   * Pauses a channel, so that no call begins on it until the operator resumes it. A channel that is already
   * paused keeps the time and reason of its pause. Returns `undefined` when the channel is not known.
   */
  readonly pauseChannel: (name: string, reason: string) => Promise<ChannelStatus | undefined>
  /**
   * Ends the pause and all cooldowns of a channel in one transaction. Returns `undefined` when the channel is not known.
   */
  readonly resumeChannel: (name: string) => Promise<ChannelStatus | undefined>
}

/**
 * What a call that costs nothing showed about a channel. `accepted`: the vendor took the credential. `refused`:
 * it did not. `not_checked`: the vendor was reached and has no such call. `unclear`: any other answer.
 * `unreachable`: there was no answer. `no_credential`: nothing was sent, because there is no credential here.
 */
export type ChannelCheck = {
  readonly result:
    | 'accepted'
    | 'refused'
    | 'not_checked'
    | 'unclear'
    | 'unreachable'
    | 'no_credential'
  readonly url: string
  /** The name of the header that carries the credential. */
  readonly header: string
  readonly httpStatus?: number
  /** The time until the headers of the answer. */
  readonly latencyMs?: number
  /** The system's code for a failed connection. Absent when there was no answer in time. */
  readonly reason?: string
}
