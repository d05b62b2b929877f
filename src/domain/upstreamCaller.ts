import type { Channel } from './channel.ts'
import type { ImageRequest } from './imageRequest.ts'
import type { UpstreamOutcome } from './upstreamOutcome.ts'

/** One call of one attempt. `idempotencyKey` stays the same through a chain of unknowns (design 1.7). */
export type UpstreamCall = {
  /** What the call is made for: told to traces, never to the upstream. */
  readonly origin: { readonly taskId: string; readonly attempt: number }
  readonly channel: Channel
  readonly request: ImageRequest
  readonly idempotencyKey: string
  /** Total time, connect to last byte; at its end the outcome is `unknown` (`timeout`). */
  readonly timeoutMs: number
  /** Not worker shutdown: aborting a paid call loses it (design section 5). */
  readonly signal?: AbortSignal
}

/** Calls the upstream model of the channel's family; every expected failure is an outcome, throws are bugs. */
export type UpstreamCaller = (call: UpstreamCall) => Promise<UpstreamOutcome>
