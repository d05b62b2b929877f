import type { JsonObject } from '../domain/imageRequest.ts'
import type { HeldImage, NativeResponse } from '../domain/upstreamOutcome.ts'
import type { JsonPath } from '../streams/jsonIntakeFailure.ts'
import type { ModelAnswer } from './readModelAnswer.ts'
import type { BodyPiece } from './requestBody.ts'

/** What differs between the two families: the request as it goes out, and what a 200 means. */
export type FamilyCall = {
  readonly url: string
  /** The credential among them. */
  readonly headers: Readonly<Record<string, string>>
  readonly contentType: string
  readonly pieces: readonly BodyPiece[]
  /** Which strings of the answer are images. */
  readonly isImage: (path: JsonPath) => boolean
  /** Hands on at most one image of the answer, or one made from it. */
  readonly judge: (answer: ModelAnswer) => Promise<AnswerVerdict>
}

export type AnswerVerdict =
  | { readonly kind: 'image'; readonly image: HeldImage; readonly native: NativeResponse }
  | {
      readonly kind: 'refusal'
      readonly reason: 'content_policy' | 'no_image'
      /** Family A: the model's own words to the synchronous caller. */
      readonly nativeRefusal?: JsonObject
    }
  | { readonly kind: 'broken' }
