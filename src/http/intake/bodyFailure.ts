import { assertNever } from '../../domain/assertNever.ts'
import type { RequestFailure } from '../../domain/failure.ts'
import { invalidRequest } from '../../domain/failure.ts'
import { paramPath } from '../../schema/requestFailures.ts'
import type { BodyFailure } from '../../streams/bodyError.ts'
import { BodyError } from '../../streams/bodyError.ts'
import type { JsonIntakeFailure } from '../../streams/json/readJsonDocument.ts'

const overloadedRetrySeconds = 5

export const overloaded: RequestFailure = {
  tag: 'overloaded',
  retryAfterSeconds: overloadedRetrySeconds,
}

/** Why a body could not be read, as its client is told. Errors that are none of these are thrown on. */
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
      return unreadable('The request body is not what its Content-Encoding says.')
    case 'stalled':
      return unreadable('The request body did not arrive in time.')
    default:
      return assertNever(failure)
  }
}

export function unreadable(message: string): RequestFailure {
  return invalidRequest('read_request_body_failed', null, message)
}

/** A JSON body that was refused, naming the field where there is one. */
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
    case 'number_out_of_range':
    case 'unstorable_text':
    case 'invalid_base64':
    case 'diverted_too_large':
    case 'diverted_total_too_large':
    case 'too_many_diverted':
      return failureOfValue(failure, paramPath(failure.path))
    default:
      return assertNever(failure)
  }
}

function failureOfValue(
  failure: Extract<JsonIntakeFailure, { path: unknown }>,
  param: string,
): RequestFailure {
  const list = paramPath(failure.path.slice(0, 1))
  switch (failure.tag) {
    case 'duplicate_key':
      return invalidJson('The request body has a field twice.', param)
    case 'number_out_of_range':
      return invalidValue(param, 'the number is out of range')
    case 'unstorable_text':
      return invalidValue(param, 'text must not hold NUL or lone surrogates')
    case 'invalid_base64':
      return invalidImage(param, `Invalid image in '${param}': the data is not plain Base64.`)
    case 'diverted_too_large':
      return invalidImage(
        param,
        `Invalid image in '${param}': it is larger than ${failure.limitBytes} bytes.`,
      )
    case 'diverted_total_too_large': {
      const { limitBytes } = failure
      return invalidImage(list, `The images are larger than ${limitBytes} bytes together.`)
    }
    case 'too_many_diverted':
      return invalidValue(list, `at most ${failure.limit} images`)
    default:
      return assertNever(failure)
  }
}

function invalidJson(message: string, param: string | null = null): RequestFailure {
  return invalidRequest('invalid_json', param, message)
}

function invalidValue(param: string, what: string): RequestFailure {
  return invalidRequest('invalid_value', param, `Invalid value for '${param}': ${what}.`)
}

function invalidImage(param: string, message: string): RequestFailure {
  return invalidRequest('invalid_image', param, message)
}
