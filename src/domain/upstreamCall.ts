import type { Channel } from './channel.ts'
import type { ImageRequest } from './imageRequest.ts'
import type { JsonObject } from './json.ts'
import type { ImageMimeType } from './models.ts'
import type { NativeResponse } from './nativeResponse.ts'

/** The six classes into which every upstream answer falls: design 1.7. */
export const outcomeClasses = [
  'succeeded',
  'refused',
  'rejected',
  'exhausted',
  'operator_fault',
  'unknown',
] as const
export type OutcomeClass = (typeof outcomeClasses)[number]

/** Small enumerations only: they reach logs, metrics, Temporal and `task show`; never upstream text. */
export const outcomeReasons = [
  'image',
  'rate_limited',
  'overloaded',
  'not_sent',
  'inputs_unreadable',
  'invalid_request',
  'content_policy',
  'no_image',
  'quota_exhausted',
  'credential',
  'forbidden',
  'model_not_found',
  'server_error',
  'connection_lost',
  'timeout',
  'broken_body',
  'unexpected_status',
  'answer_too_large',
  'worker_lost',
] as const
export type OutcomeReason = (typeof outcomeReasons)[number]

/** What was seen on the wire. `latencyMs` from the first byte sent to the verdict. */
export type OutcomeEvidence = {
  readonly reason: OutcomeReason
  readonly httpStatus?: number
  readonly upstreamRequestId?: string
  readonly latencyMs?: number
}

/** An image taken out of an upstream answer, not yet in the blob store; readable any number of times. */
export type HeldImage = {
  readonly mimeType: ImageMimeType
  readonly bytes: number
  readonly width: number
  readonly height: number
  readonly open: () => AsyncIterable<Uint8Array>
  /** Frees the memory or the temporary file. Safe to call twice. */
  readonly discard: () => Promise<void>
}

export type UpstreamOutcome =
  | {
      readonly class: 'succeeded'
      readonly evidence: OutcomeEvidence
      readonly image: HeldImage
      readonly native: NativeResponse
    }
  | {
      readonly class: 'refused'
      readonly evidence: OutcomeEvidence
      readonly retryAfterMs?: number
    }
  | {
      readonly class: 'rejected'
      readonly evidence: OutcomeEvidence
      readonly code: 'content_policy_violation' | 'no_image_generated' | 'upstream_invalid_request'
      /** Family A: the refusal as the model gave it (a 200 body), for synchronous v1beta callers. */
      readonly nativeRefusal?: JsonObject
    }
  | {
      readonly class: 'exhausted'
      readonly evidence: OutcomeEvidence
      readonly retryAfterMs?: number
    }
  | { readonly class: 'operator_fault'; readonly evidence: OutcomeEvidence }
  | { readonly class: 'unknown'; readonly evidence: OutcomeEvidence }

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
