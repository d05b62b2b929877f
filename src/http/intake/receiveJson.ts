import { defined } from '../../domain/defined.ts'
import type { RequestFailure } from '../../domain/failure.ts'
import { invalidRequest } from '../../domain/failure.ts'
import type { Json } from '../../domain/json.ts'
import type { Result } from '../../domain/result.ts'
import { fail, succeed } from '../../domain/result.ts'
import type { ReceivedImage } from '../../domain/tasks/imageRequest.ts'
import { invalidImage, invalidValue, paramPath } from '../../schema/requestFailures.ts'
import type { Base64Alphabet } from '../../streams/base64.ts'
import { wholeImageType } from '../../streams/images.ts'
import type { JsonFailure, JsonPath } from '../../streams/jsonFailure.ts'
import { readJson } from '../../streams/json.ts'
import type { ApiContext } from '../context.ts'
import type { BodyOptions } from './body.ts'
import { readBody } from './body.ts'
import { checkJsonType } from './mediaType.ts'

type ReceivedJson = { readonly document: Json; readonly images: readonly ReceivedImage[] }

/**
 * Reads a JSON body. The strings at `isImage` paths are Base64 images. In the returned document these strings are
 * empty.
 */
export async function receiveJson(
  context: ApiContext,
  options: BodyOptions,
  isImage: (path: JsonPath) => boolean,
  alphabet: Base64Alphabet = 'standard',
): Promise<Result<ReceivedJson, RequestFailure>> {
  const wrongType = checkJsonType(context.req.headers['content-type'])
  if (wrongType !== undefined) return fail(wrongType)
  const body = await readBody(context, options)
  if (!body.ok) return body
  const read = await readJson(body.value, { isImage, alphabet })
  if (!read.ok) return fail(failureOfJson(read.failure))
  const { document, images } = read.value
  return succeed({ document, images: images.map(({ path, bytes }) => receivedImage(path, bytes)) })
}

/** Describes an image by its place in the request and by what its bytes show. */
export function receivedImage(path: JsonPath, content: Uint8Array): ReceivedImage {
  return { path, content, ...defined({ sniffedType: wholeImageType(content) }) }
}

/** Returns the failure to answer with for a JSON body that cannot be accepted. Names the field if there is one. */
function failureOfJson(failure: JsonFailure): RequestFailure {
  if (failure.tag === 'text_too_long') {
    return { tag: 'body_too_large', limitBytes: failure.limitBytes, texts: true }
  }
  const { tag, path, why } = failure
  const param = path.length === 0 ? null : paramPath(path)
  if (tag === 'invalid_json') return invalidRequest(tag, param, `The request body ${why}.`)
  if (param !== null)
    return tag === 'invalid_image' ? invalidImage(param, why) : invalidValue(param, why)
  return invalidRequest(tag, null, `Invalid value in the request body: ${why}.`)
}
