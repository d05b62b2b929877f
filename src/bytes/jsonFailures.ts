import type { RequestFailure } from '../domain/failure.ts'
import { invalidRequest } from '../domain/failure.ts'
import type { JsonPath } from '../domain/json.ts'
import { invalidImage, invalidValue, paramPath } from '../domain/requestFailures.ts'

// Why a JSON document is refused.

/** The failure of a document that is not valid JSON, or breaks a rule for all of it. */
export function invalidJson(why: string, param: string | null = null): RequestFailure {
  return invalidRequest('invalid_json', param, `The request body ${why}.`)
}

export const notJson = invalidJson('is not valid JSON')

/** The failure of an image whose text is no base64. */
export function notBase64(path: JsonPath): RequestFailure {
  return invalidImage(paramPath(path), 'the data is not valid Base64')
}

/** The failure of a value that is valid JSON, and not allowed. */
export function invalidAt(path: JsonPath, why: string): RequestFailure {
  return path.length > 0
    ? invalidValue(paramPath(path), why)
    : invalidRequest('invalid_value', null, `Invalid value in the request body: ${why}.`)
}

/** Everything besides the images is too large as sent, or its texts are too large without their escapes. */
export function tooLong(limitBytes: number): RequestFailure {
  return { tag: 'body_too_large', limitBytes, texts: true }
}
