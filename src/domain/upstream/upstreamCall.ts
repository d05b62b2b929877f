import type { Channel } from './channel.ts'
import type { JsonObject } from '../json.ts'
import type { ImageMimeType, ModelId } from '../models/models.ts'
import type { NativeResponse } from './nativeResponse.ts'
import type { ImageRequest } from '../tasks/imageRequest.ts'

/**
 * Every upstream call ends with one of seven classes. `succeeded`: the answer contains an image. `refused`: the
 * upstream did no work, and the call can be made later. `rejected`: the upstream does not accept this
 * request. `exhausted`: the quota or credit of the channel is used up. `declined`: the upstream did no work, and does
 * not take this request on this channel. `operator_fault`: the credential, project or model name is wrong. `unknown`:
 * the upstream may have done work.
 */
export const outcomeClasses = [
  'succeeded',
  'refused',
  'rejected',
  'exhausted',
  'declined',
  'operator_fault',
  'unknown',
] as const
export type OutcomeClass = (typeof outcomeClasses)[number]

/**
 * Why an outcome has its class. Logs, metrics and `task show` contain these reasons instead of an upstream's
 * text. `not_sent` means that there was no connection to the upstream. `not_called` means that the worker
 * opened the attempt and did not call. `credential_unreadable` means that the file of the credential could not
 * be read.
 * `in_progress` means that the upstream may still work on an earlier call with the same key.
 */
export const outcomeReasons = [
  'image',
  'rate_limited',
  'overloaded',
  'not_sent',
  'not_called',
  'inputs_unreadable',
  'credential_unreadable',
  'invalid_request',
  'too_large',
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
  'in_progress',
] as const
export type OutcomeReason = (typeof outcomeReasons)[number]

/**
 * The shapes other than the documented one in which relays and vendors send an image: it is the body itself, stands in
 * the completed event of a stream, is a data URL, has another place or name, or is marked as a thought.
 */
export const answerShapes = [
  'image_body',
  'event_stream',
  'data_url',
  'other_place',
  'thought',
] as const
export type AnswerShape = (typeof answerShapes)[number]

/**
 * What the worker observed about a call. `latencyMs` is the time from the first byte sent until the answer was over.
 */
export type OutcomeEvidence = {
  readonly reason: OutcomeReason
  readonly httpStatus?: number
  readonly upstreamRequestId?: string
  /** The vendor's code or reason, at most 64 of `[0-9A-Za-z_.-]`. Absent when it has none. */
  readonly vendorCode?: string
  readonly latencyMs?: number
  /** The shape in which the image came, when it is not the documented one. */
  readonly shape?: AnswerShape
  /** How many images were in the answer, when there were several. Only the last is kept. */
  readonly imageCount?: number
  /** How many bytes of the vendor's response were too long to be stored beside the image. */
  readonly leftOutBytes?: number
}

/** An image from an upstream answer that is not yet in the blob store. */
export type KeptImage = {
  readonly mimeType: ImageMimeType
  /** In pixels. 0: the bytes do not say it. */
  readonly width: number
  readonly height: number
  readonly bytes: Buffer
  /** What the upstream sent, where the image was converted from it. */
  readonly original?: { readonly mimeType: ImageMimeType; readonly bytes: Buffer }
  /**
   * Call this when the image is stored or given up: large answers wait for the memory that it takes. A second call does
   * nothing.
   */
  readonly discard: () => void
}

export type UpstreamOutcome =
  | {
      readonly class: 'succeeded'
      readonly evidence: OutcomeEvidence
      readonly image: KeptImage
      readonly native: NativeResponse
    }
  | {
      readonly class: Exclude<OutcomeClass, 'succeeded'>
      readonly evidence: OutcomeEvidence
      /** How long the upstream asks us to wait. */
      readonly retryAfterMs?: number
      /** The answer with which a family A model rejected the request (a 200 body), for synchronous v1beta callers. */
      readonly nativeRejection?: JsonObject
    }

/**
 * One call of one attempt. After an unknown outcome, the next call of the task has the same `upstreamKey`.
 */
export type UpstreamCall = {
  readonly channel: Channel
  readonly accountId: string
  readonly model: ModelId
  readonly request: ImageRequest
  /** Called when the request is sent as a whole, or when sending it breaks off. Not called when nothing was sent. */
  readonly onSent?: () => void
  readonly upstreamKey: string
  /** An earlier call with this key may have done work. */
  readonly repeats?: boolean
  /**
   * Limit for the call, from opening the connection to the last byte. A call that takes longer has the
   * outcome `unknown` (`timeout`). Nothing else ends a call, not even a shutdown of the worker, because an
   * aborted call is paid for and its image is lost.
   */
  readonly timeoutMs: number
  /**
   * Asked right before the first byte is sent. When it returns false, nothing is sent, and the outcome is `not_called`: other
   * processes may soon count this one as lost.
   */
  readonly mayBegin?: () => boolean
}

/** Calls an upstream model. Every expected failure is returned as an outcome. An exception is a bug. */
export type UpstreamCaller = (call: UpstreamCall) => Promise<UpstreamOutcome>
