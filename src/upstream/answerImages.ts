import { firstDocument } from './answerBody.ts'
import { assertNever } from '../domain/assertNever.ts'
import { defined } from '../domain/defined.ts'
import { objectOf } from '../domain/json.ts'
import {
  outputImageBytesMax,
  upstreamAnswerBytesMax,
  upstreamAnswerTextBytesMax,
  upstreamAnswerValuesMax,
} from '../domain/limits.ts'
import type { Result } from '../domain/result.ts'
import { fail, succeed } from '../domain/result.ts'
import type { KeptImage } from '../domain/upstream/upstreamCall.ts'
import type { ModelAnswer, AnswerVerdict } from './familyCall.ts'
import type { KeepDeps } from './keptImage.ts'
import { keepImage } from './keptImage.ts'
import { createLenientBase64Decoder } from '../streams/json/base64Decoders.ts'
import type { JsonIntakeFailure, JsonPath } from '../streams/intakeFailure.ts'
import { readJsonDocument } from '../streams/json/readJsonDocument.ts'

/**
 * How many images of one answer are kept at the same time: the first one and the latest ones. The result of a
 * family B answer is its first image. The result of a family A answer is its last image that is not a thought (a
 * draft of the model), and thoughts may follow that image. A thinking model sends two or three images.
 */
export const keptImagesMax = 16

/**
 * Reads a 2xx answer while it arrives. Reads its images separately, so that no image is in memory as text. We
 * pay for the answer, so the rules are lenient: any number of images within the byte limits is allowed
 * (`keptImagesMax` of them are kept), the last of equal keys counts, and bytes after the end of the document
 * are not read. `isImage` says which strings are images. Throws `AnswerLostError` when the answer breaks off.
 * After an error or a failure, no image is kept.
 */
export async function readModelAnswer(
  body: AsyncIterable<Uint8Array>,
  isImage: (path: JsonPath) => boolean,
  deps: KeepDeps,
): Promise<Result<ModelAnswer, AnswerVerdict>> {
  const held = new Map<number, KeptImage>()
  const take = async (
    content: AsyncIterable<Uint8Array>,
    { index }: { readonly index: number },
  ) => {
    const image = await keepImage(content, deps)
    if (image === undefined) return index
    held.set(index, image)
    if (held.size > keptImagesMax) {
      const [, second] = held.keys()
      if (second !== undefined) {
        await held.get(second)?.discard()
        held.delete(second)
      }
    }
    return index
  }
  const discardAll = async () =>
    await Promise.all([...held.values()].map((image) => image.discard()))
  try {
    const read = await readJsonDocument(firstDocument(body), { ...limits, divert: isImage, take })
    const document = read.ok ? objectOf(read.value.document) : undefined
    if (read.ok && document !== undefined) {
      const images = read.value.diverted.map(({ path, value }) => ({
        path,
        ...defined({ image: held.get(value) }),
      }))
      return succeed({ document, images })
    }
    await discardAll()
    return fail({ class: 'unknown', reason: read.ok ? 'broken_body' : reasonOf(read.failure) })
  } catch (error) {
    await discardAll()
    throw error
  }
}

const limits = {
  depthMax: 64,
  tokensMax: upstreamAnswerValuesMax,
  textBytesMax: upstreamAnswerTextBytesMax,
  unstorableText: 'replace',
  equalKeys: 'last',
  divertedBytesMax: outputImageBytesMax,
  divertedTotalBytesMax: upstreamAnswerBytesMax,
  divertedCountMax: upstreamAnswerValuesMax,
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
