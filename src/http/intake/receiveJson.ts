import { assertNever } from '../../domain/assertNever.ts'
import { defined } from '../../domain/defined.ts'
import type { RequestFailure } from '../../domain/failure.ts'
import { invalidRequest } from '../../domain/failure.ts'
import type { Json } from '../../domain/json.ts'
import type { Result } from '../../domain/result.ts'
import { fail, succeed } from '../../domain/result.ts'
import type { ReceivedImage } from '../../domain/tasks/imageRequest.ts'
import { invalidImage, invalidValue, paramPath } from '../../schema/requestFailures.ts'
import type { Base64Alphabet } from '../../streams/base64.ts'
import { wholeImage } from '../../streams/images.ts'
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
  return { path, content, ...defined({ sniffedType: wholeImage(content)?.mimeType }) }
}

/**
 * Returns the failure to answer with for a JSON body that cannot be accepted. Names the field if there is
 * one.
 */
function failureOfJson(failure: JsonFailure): RequestFailure {
  switch (failure.tag) {
    case 'empty':
      return invalidJson('The request body is empty.')
    case 'syntax':
      return invalidJson('The request body is not valid JSON.')
    case 'invalid_utf8':
      return invalidJson('The request body is not valid UTF-8.')
    case 'too_deep':
      return invalidJson('The request body is nested too deeply.')
    case 'too_many_values':
      return invalidJson('The request body has too many values.')
    case 'text_too_long':
      return { tag: 'body_too_large', limitBytes: failure.limitBytes, texts: true }
    case 'duplicate_key':
      return invalidJson('The request body contains the same field twice.', paramPath(failure.path))
    case 'number_out_of_range':
      return invalidValueAt(failure.path, 'the number is out of range')
    case 'unstorable_text':
      return invalidValueAt(failure.path, 'text must not contain NUL or lone surrogates')
    case 'invalid_base64':
      return invalidImage(paramPath(failure.path), 'the data is not valid Base64')
    case 'image_too_large':
      return invalidImage(paramPath(failure.path), `it is larger than ${failure.limitBytes} bytes`)
    case 'images_too_large':
      return invalidImage(
        listParam(failure.path),
        `together they are larger than ${failure.limitBytes} bytes`,
      )
    case 'too_many_images':
      return invalidValue(listParam(failure.path), `at most ${failure.limit} images`)
    default:
      return assertNever(failure)
  }
}

/** Returns the field that contains all images, such as `input_images` for `input_images[3].data`. */
function listParam(path: JsonPath): string {
  return paramPath(path.slice(0, 1))
}

/** The path is empty for the whole body, and for the name of one of its fields. Then no field can be named. */
function invalidValueAt(path: JsonPath, why: string): RequestFailure {
  if (path.length > 0) return invalidValue(paramPath(path), why)
  return invalidRequest('invalid_value', null, `Invalid value in the request body: ${why}.`)
}

function invalidJson(message: string, param: string | null = null): RequestFailure {
  return invalidRequest('invalid_json', param, message)
}
