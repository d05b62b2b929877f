import type { RequestFailure } from '../../domain/failure.ts'
import type { Json, JsonPath } from '../../domain/json.ts'
import { invalidImage, paramPath } from '../../domain/requestFailures.ts'
import type { Result } from '../../domain/result.ts'
import { fail, succeed } from '../../domain/result.ts'
import type { ReceivedImage } from '../../domain/tasks/imageRequest.ts'
import type { Base64Alphabet } from '../../bytes/base64.ts'
import { wholeImage } from '../../bytes/images.ts'
import { readJson } from '../../bytes/readJson.ts'
import type { ApiContext } from '../requestState.ts'
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
  if (!read.ok) return read
  const images: ReceivedImage[] = []
  for (const { path, bytes } of read.value.images) {
    const image = receivedImage(path, bytes)
    if (!image.ok) return image
    images.push(image.value)
  }
  return succeed({ document: read.value.document, images })
}

/** Returns an image with the type that its bytes show. Fails when they are not a complete PNG, JPEG or WebP. */
export function receivedImage(
  path: JsonPath,
  content: Uint8Array,
): Result<ReceivedImage, RequestFailure> {
  const mimeType = wholeImage(content)?.mimeType
  return mimeType === undefined
    ? fail(invalidImage(paramPath(path), 'the data is not a complete PNG, JPEG or WebP image'))
    : succeed({ path, mimeType, content })
}
