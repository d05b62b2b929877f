import { assertNever } from '../../domain/assertNever.ts'
import type { RequestFailure } from '../../domain/failure.ts'
import { invalidRequest } from '../../domain/failure.ts'
import { invalidImage, invalidValue, paramPath } from '../../schema/requestFailures.ts'
import type { BodyFailure, JsonIntakeFailure, JsonPath } from '../../streams/intakeFailure.ts'
import { BodyError } from '../../streams/intakeFailure.ts'

/**
 * Returns the failure to answer with for a `BodyError`. Throws every other error again, and also a
 * `BodyError` that says that the client left.
 */
export function failureOfBodyError(error: unknown): RequestFailure {
  if (error instanceof BodyError && error.failure.tag !== 'interrupted') {
    return bodyFailure(error.failure)
  }
  throw error
}

function bodyFailure(failure: Exclude<BodyFailure, { tag: 'interrupted' }>): RequestFailure {
  switch (failure.tag) {
    case 'too_large':
      return { tag: 'body_too_large', limitBytes: failure.limitBytes }
    case 'no_room':
      return overloaded
    case 'corrupt_coding':
      return unreadable('The request body does not match its Content-Encoding.')
    case 'stalled':
      return unreadable('The request body did not arrive in time.')
    default:
      return assertNever(failure)
  }
}

/**
 * Returns the failure to answer with for a JSON body that cannot be accepted. Names the field if there is
 * one.
 */
export function failureOfJson(failure: JsonIntakeFailure): RequestFailure {
  switch (failure.tag) {
    case 'empty':
      return invalidJson('The request body is empty.')
    case 'syntax':
      return invalidJson('The request body is not valid JSON.')
    case 'invalid_utf8':
      return invalidJson('The request body is not valid UTF-8.')
    case 'too_deep':
      return invalidJson('The request body is nested too deeply.')
    case 'too_many_tokens':
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
    case 'diverted_too_large':
      return invalidImage(paramPath(failure.path), `it is larger than ${failure.limitBytes} bytes`)
    case 'diverted_total_too_large':
      return invalidImage(
        listParam(failure.path),
        `together they are larger than ${failure.limitBytes} bytes`,
      )
    case 'too_many_diverted':
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

/** Failure for a body when the byte budget has no room. */
export const overloaded: RequestFailure = { tag: 'overloaded', retryAfterSeconds: 5 }

/** Returns the failure for a body that cannot be read in the way that its headers say. */
export function unreadable(message: string): RequestFailure {
  return invalidRequest('read_request_body_failed', null, message)
}
