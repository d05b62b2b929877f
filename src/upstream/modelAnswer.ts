import { assertNever } from '../domain/assertNever.ts'
import type { JsonObject } from '../domain/json.ts'
import { objectOf } from '../domain/json.ts'
import {
  jsonTokensMax,
  outputImageBytesMax,
  upstreamAnswerBytesMax,
  upstreamAnswerTextBytesMax,
} from '../domain/limits.ts'
import type { Result } from '../domain/result.ts'
import { fail, succeed } from '../domain/result.ts'
import type { HeldImage } from '../domain/upstreamCall.ts'
import { createLenientBase64Decoder } from '../streams/base64.ts'
import type { JsonIntakeFailure, JsonPath } from '../streams/json/readJsonDocument.ts'
import { readJsonDocument } from '../streams/json/readJsonDocument.ts'
import { firstDocument } from './answerBody.ts'
import type { ErrorReading } from './errorAnswer.ts'
import type { HoldDeps } from './heldImage.ts'
import { holdImage } from './heldImage.ts'

/** An image of the answer; `image` is absent when its bytes are none. */
type AnswerImage = { readonly path: JsonPath; readonly image?: HeldImage }

export type ModelAnswer = {
  /** Where an image was, an empty string stands. */
  readonly document: JsonObject
  /** In document order. Those that the caller does not hand on are its to discard. */
  readonly images: readonly AnswerImage[]
}

const depthMax = 64

/**
 * Reads a 200 answer while it arrives, its images aside, so that no image ever lies in memory as text
 * (research reliability.md section 5). A paid image is not lost to how many stand beside it, nor to equal
 * keys, nor to what comes or fails behind the document: all within the byte limits are held, and the last
 * of equal keys counts. What breaks off throws `AnswerLostError`; then, and on a refusal, nothing is held
 * any more.
 */
export async function readModelAnswer(
  body: AsyncIterable<Uint8Array>,
  isImage: (path: JsonPath) => boolean,
  deps: HoldDeps,
): Promise<Result<ModelAnswer, 'broken_body' | 'answer_too_large'>> {
  const held: HeldImage[] = []
  const take = async (content: AsyncIterable<Uint8Array>) => {
    const image = await holdImage(content, deps)
    if (image !== undefined) held.push(image)
    return image
  }
  const discardAll = async () => await Promise.all(held.map((image) => image.discard()))
  try {
    const read = await readJsonDocument(firstDocument(body), { ...limits, divert: isImage, take })
    const document = read.ok ? objectOf(read.value.document) : undefined
    if (read.ok && document !== undefined) {
      const images = read.value.diverted.map(({ path, value }) =>
        value === undefined ? { path } : { path, image: value },
      )
      return succeed({ document, images })
    }
    await discardAll()
    return fail(read.ok ? 'broken_body' : reasonOf(read.failure))
  } catch (error) {
    await discardAll()
    throw error
  }
}

const limits = {
  depthMax,
  tokensMax: jsonTokensMax,
  textBytesMax: upstreamAnswerTextBytesMax,
  unstorableText: 'replace',
  equalKeys: 'last',
  divertedBytesMax: outputImageBytesMax,
  divertedTotalBytesMax: upstreamAnswerBytesMax,
  divertedCountMax: jsonTokensMax,
  createDecoder: createLenientBase64Decoder,
} as const

function reasonOf(failure: JsonIntakeFailure): 'broken_body' | 'answer_too_large' {
  switch (failure.tag) {
    case 'diverted_too_large':
    case 'diverted_total_too_large':
    case 'text_too_long':
      return 'answer_too_large'
    case 'empty':
    case 'syntax':
    case 'invalid_utf8':
    case 'duplicate_key':
    case 'too_deep':
    case 'too_many_tokens':
    case 'number_out_of_range':
    case 'unstorable_text':
    case 'invalid_base64':
    case 'too_many_diverted':
      return 'broken_body'
    default:
      return assertNever(failure)
  }
}

/** What one answer says, read while it arrives. */
export type AnswerReading =
  | {
      readonly kind: 'ok'
      readonly read: Result<ModelAnswer, 'broken_body' | 'answer_too_large'>
    }
  | { readonly kind: 'error'; readonly error: ErrorReading }
