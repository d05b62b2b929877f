import type { JsonObject } from '../domain/json.ts'
import type { ErrorVerdict } from '../domain/upstream/classifyErrorAnswer.ts'
import type { NativeResponse } from '../domain/upstream/nativeResponse.ts'
import type { HeldImage } from '../domain/upstream/upstreamCall.ts'
import type { BodyPiece } from './requestBody.ts'
import type { JsonPath } from '../streams/intakeFailure.ts'

/** What differs between the two families: the request, and what a 2xx answer means. */
export type FamilyCall = {
  readonly url: string
  /** Includes the credential. */
  readonly headers: Readonly<Record<string, string>>
  readonly contentType: string
  readonly pieces: readonly BodyPiece[]
  /** Whether the string at a path of the answer is an image in base64. */
  readonly isImage: (path: JsonPath) => boolean
  /** Chooses at most one image of the answer, or makes a new one from it. */
  readonly judge: (answer: ModelAnswer) => Promise<AnswerVerdict>
}

/** A 2xx answer, taken apart. */
export type ModelAnswer = {
  /** Contains an empty string in the place of each image. */
  readonly document: JsonObject
  /** In document order. The caller must discard every image that it does not pass on. */
  readonly images: readonly AnswerImage[]
}

/** `image` is absent when the bytes are not a whole image, and when more images came than are held. */
type AnswerImage = { readonly path: JsonPath; readonly image?: HeldImage }

/** What one answer means: the class of its outcome and the reason, without the evidence of the call. */
export type AnswerVerdict =
  | {
      readonly class: 'succeeded'
      readonly reason: 'image'
      readonly image: HeldImage
      readonly native: NativeResponse
    }
  | (ErrorVerdict & {
      /** The wait that a refusal asks for. */
      readonly retryAfterMs?: number
      /** Family A: the refusal in the words of the model, for the synchronous caller. */
      readonly nativeRefusal?: JsonObject
    })
