import type { Channel } from './channel.ts'
import type { JsonObject } from '../json.ts'
import type { ImageMimeType } from '../models/models.ts'
import type { NativeResponse } from './nativeResponse.ts'
import type { ImageRequest } from '../tasks/imageRequest.ts'

/**
 * Every upstream answer has one of six classes. `refused`: no work was done, retry later. `rejected`: the
 * request itself is not accepted. `exhausted`: the quota or credit of the channel is used up.
 * `operator_fault`: credential, project or model name are wrong. `unknown`: work may have been done.
 */
export const outcomeClasses = [
  'succeeded',
  'refused',
  'rejected',
  'exhausted',
  'operator_fault',
  'unknown',
] as const
export type OutcomeClass = (typeof outcomeClasses)[number]

/**
 * Why an outcome has its class. Logs, metrics and `task show` contain these, never an upstream's text.
 * `not_sent`: no connection to the upstream. `not_called`: the worker opened the attempt and did not call.
 */
export const outcomeReasons = [
  'image',
  'rate_limited',
  'overloaded',
  'not_sent',
  'not_called',
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

/** What was seen of a call. `latencyMs` counts from the first byte sent until the class is known. */
export type OutcomeEvidence = {
  readonly reason: OutcomeReason
  readonly httpStatus?: number
  readonly upstreamRequestId?: string
  readonly latencyMs?: number
}

/** An image from an upstream answer, not yet in the blob store. It can be read any number of times. */
export type HeldImage = {
  readonly mimeType: ImageMimeType
  readonly bytes: number
  readonly width: number
  readonly height: number
  readonly open: () => AsyncIterable<Uint8Array>
  /** Frees the memory or deletes the temporary file. Safe to call twice. */
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

/** One call of one attempt. After an unknown outcome the next call has the same `idempotencyKey`. */
export type UpstreamCall = {
  /** For traces; not sent to the upstream. */
  readonly origin: { readonly taskId: string; readonly attempt: number }
  readonly channel: Channel
  readonly request: ImageRequest
  readonly idempotencyKey: string
  /** From the connection to the last byte. When it is over, the outcome is `unknown` (`timeout`). */
  readonly timeoutMs: number
  /** A worker shutdown does not abort it, because an aborted call is paid for and lost. */
  readonly signal?: AbortSignal
}

/** Calls an upstream model. Every expected failure is an outcome; an exception is a bug. */
export type UpstreamCaller = (call: UpstreamCall) => Promise<UpstreamOutcome>
