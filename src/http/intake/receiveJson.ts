import type { Json } from '../../domain/json.ts'
import {
  inputImageBytesMax,
  inputImagesBytesMax,
  inputImagesMax,
  jsonDepthMax,
  jsonValuesMax,
  requestTextBytesMax,
} from '../../domain/limits.ts'
import type { Result } from '../../domain/result.ts'
import { fail, succeed } from '../../domain/result.ts'
import type { ReceivedImage } from '../../domain/tasks/imageRequest.ts'
import type { Base64Alphabet } from '../../streams/base64.ts'
import { createBase64Decoder } from '../../streams/json/base64Decoders.ts'
import type { JsonPath } from '../../streams/intakeFailure.ts'
import { readJsonDocument } from '../../streams/json/readJsonDocument.ts'
import { failureOfBodyError, failureOfJson } from './bodyFailures.ts'
import type { ApiContext, HttpFailure } from '../context.ts'
import { checkJsonType } from './mediaType.ts'
import type { OpenBody, OpenBodyOptions } from './openBody.ts'
import { openBody } from './openBody.ts'
import type { Staging } from './staging.ts'

type ReceivedJson = { readonly document: Json; readonly images: readonly ReceivedImage[] }

/**
 * Reads a JSON body. The strings at `isImage` paths are Base64 images. They are decoded and stored while the
 * body arrives. In the returned document these strings are empty.
 */
export async function receiveJson(
  context: ApiContext,
  options: OpenBodyOptions,
  isImage: (path: JsonPath) => boolean,
  staging: Staging,
  alphabet: Base64Alphabet = 'standard',
): Promise<Result<ReceivedJson, HttpFailure>> {
  const wrongType = checkJsonType(context.req.headers['content-type'])
  if (wrongType !== undefined) return fail(wrongType)
  const body = await openBody(context, options)
  if (!body.ok) return body
  try {
    return await readDocument(body.value, isImage, staging, alphabet)
  } catch (error) {
    return fail(failureOfBodyError(error))
  } finally {
    body.value.close()
  }
}

async function readDocument(
  body: OpenBody,
  isImage: (path: JsonPath) => boolean,
  staging: Staging,
  alphabet: Base64Alphabet,
): Promise<Result<ReceivedJson, HttpFailure>> {
  const read = await readJsonDocument(body.content, {
    divert: isImage,
    take: staging.take,
    createDecoder: () => createBase64Decoder(alphabet),
    coverTexts: body.coverTexts,
    depthMax: jsonDepthMax,
    tokensMax: jsonValuesMax,
    textBytesMax: requestTextBytesMax,
    unstorableText: 'refuse',
    equalKeys: 'refuse',
    divertedBytesMax: inputImageBytesMax,
    divertedTotalBytesMax: inputImagesBytesMax,
    divertedCountMax: inputImagesMax,
  })
  if (!read.ok) return fail(await body.refusal(failureOfJson(read.failure)))
  const { document, diverted } = read.value
  return succeed({ document, images: diverted.map(({ value }) => value) })
}
