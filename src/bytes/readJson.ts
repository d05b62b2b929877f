import { isUtf8 } from 'node:buffer'
import type { RequestFailure } from '../domain/failure.ts'
import type { Json, JsonPath } from '../domain/json.ts'
import {
  inputImageBytesMax,
  inputImagesBytesMax,
  inputImagesMax,
  jsonDepthMax,
  jsonValuesMax,
  requestBesidesImagesBytesMax,
  requestTextBytesMax,
  upstreamAnswerTextBytesMax,
  upstreamAnswerValuesMax,
} from '../domain/limits.ts'
import { invalidImage, paramPath } from '../domain/requestFailures.ts'
import type { Result } from '../domain/result.ts'
import { fail, succeed } from '../domain/result.ts'
import type { Base64Alphabet } from './base64.ts'
import { decodeBase64 } from './base64.ts'
import { invalidJson, notBase64 } from './jsonFailures.ts'
import type { ImageString, JsonRules } from './parseJson.ts'
import { parseJson } from './parseJson.ts'

type JsonOptions = Pick<JsonRules, 'isImage'> & { readonly alphabet: Base64Alphabet }

type Read<Image> = {
  /** The document. An empty string stands in the place of each image. */
  readonly document: Json
  /** In the order of the document. */
  readonly images: readonly Image[]
}

type ImageBytes = { readonly path: JsonPath; readonly bytes: Buffer }

/**
 * Reads the JSON body of a request, strictly. Refuses what has no single meaning or cannot be stored: equal keys,
 * numbers out of range, NUL and lone surrogates in texts, base64 that is not strict. Applies the limits for requests in
 * `limits.ts`. A byte-order mark at the start is ignored. The images are decoded in place, so `body` belongs to this
 * function from now on. Lets other work run in between.
 */
export async function readJson(
  body: Buffer,
  { isImage, alphabet }: JsonOptions,
): Promise<Result<Read<ImageBytes>, RequestFailure>> {
  if (!isUtf8(body)) return fail(invalidJson('is not valid UTF-8'))
  const read = parseJson(body, { ...requestRules, isImage })
  if (!read.ok) return read
  const images = await decodeImages(read.value.images, alphabet)
  return images.ok ? succeed({ document: read.value.document, images: images.value }) : images
}

const requestRules = {
  imagesMax: inputImagesMax,
  depthMax: jsonDepthMax,
  valuesMax: jsonValuesMax,
  besidesImagesBytesMax: requestBesidesImagesBytesMax,
  textBytesMax: requestTextBytesMax,
  lenient: false,
} as const

/** Decodes the images one after the other, and stops at the first failure. */
async function decodeImages(
  strings: readonly ImageString[],
  alphabet: Base64Alphabet,
): Promise<Result<readonly ImageBytes[], RequestFailure>> {
  const images: ImageBytes[] = []
  let bytesLeft = inputImagesBytesMax
  for (const { path, sent } of strings) {
    const bytesMax = Math.min(inputImageBytesMax, bytesLeft)
    const decoded = await decodeBase64(sent, alphabet, bytesMax, sent)
    if (!decoded.ok) {
      if (decoded.failure === 'no_base64') return fail(notBase64(path))
      return bytesMax === inputImageBytesMax
        ? fail(invalidImage(paramPath(path), `it is larger than ${inputImageBytesMax} bytes`))
        : fail(invalidImage(paramPath(path.slice(0, 1)), tooLargeTogether))
    }
    bytesLeft -= decoded.value.length
    images.push({ path, bytes: decoded.value })
  }
  return succeed(images)
}

/** No single image is at fault, so the field is named that has them all. */
const tooLargeTogether = `together they are larger than ${inputImagesBytesMax} bytes`

/**
 * Reads the JSON of an upstream answer, leniently, because we have paid for it. The last of equal keys counts, what
 * follows the first object or array is ignored, and characters that cannot be stored are replaced. Images are not
 * decoded: `decodeLenientBase64` does that, from `body`, which must not change until then.
 */
export function readLenientJson(
  body: Buffer,
  isImage: JsonRules['isImage'] = () => false,
): Result<Read<ImageString>, RequestFailure> {
  return parseJson(body, { ...answerRules, isImage })
}

const answerRules = {
  imagesMax: upstreamAnswerValuesMax,
  depthMax: 64,
  valuesMax: upstreamAnswerValuesMax,
  besidesImagesBytesMax: upstreamAnswerTextBytesMax,
  textBytesMax: Infinity,
  lenient: true,
} as const
