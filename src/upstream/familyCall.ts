import type { JsonObject } from '../domain/json.ts'
import type { ErrorVerdict } from '../domain/upstream/classifyErrorAnswer.ts'
import type { NativeResponse } from '../domain/upstream/nativeResponse.ts'
import type { KeptImage, UpstreamOutcome } from '../domain/upstream/upstreamCall.ts'
import type { BodyPiece } from './requestBody.ts'
import type { JsonPath } from '../streams/jsonFailure.ts'

/** What differs between the two families: the body of a request, and how a 2xx answer is judged. */
export type FamilyCall = {
  readonly contentType: string
  readonly pieces: readonly BodyPiece[]
  /** Returns whether the string at a path of the answer is an image in base64. */
  readonly isImage: (path: JsonPath) => boolean
  /** Judges a 2xx answer. Chooses at most one image of the answer, or makes a new image from it. */
  readonly judge: (answer: ModelAnswer) => Promise<AnswerVerdict>
}

/** A 2xx answer, divided into the document and its images. */
export type ModelAnswer = {
  /** The answer with an empty string in the place of each image. */
  readonly document: JsonObject
  /** What stands in the places of images, in document order. */
  readonly images: readonly {
    readonly path: JsonPath
    /** Decodes the image. Returns `undefined` when it is not whole. */
    readonly read: () => Promise<AnswerImage | undefined>
  }[]
}

export type AnswerImage = Omit<KeptImage, 'discard'>

/**
 * What one answer means: the class of the outcome and its reason. The evidence of the call is added later.
 */
export type AnswerVerdict =
  | {
      readonly class: 'succeeded'
      readonly reason: 'image'
      readonly image: AnswerImage
      readonly native: NativeResponse
    }
  | (ErrorVerdict & Pick<FailedOutcome, 'retryAfterMs' | 'nativeRejection'>)

export type FailedOutcome = Exclude<UpstreamOutcome, { readonly class: 'succeeded' }>
