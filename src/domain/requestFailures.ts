import type { RequestFailure } from './failure.ts'
import { invalidRequest } from './failure.ts'

// What is wrong with a field of a request, in the words of every route. No text quotes a value.

/**
 * Limit for a field name in an error answer. An unknown field name is text of the client, and may be
 * megabytes long.
 */
const paramLengthMax = 200

/** Returns the `param` of an error, such as `input_images[0].data` for `['input_images', 0, 'data']`. */
export function paramPath(path: readonly PropertyKey[]): string {
  let text = ''
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`
    else text += text === '' ? String(step) : `.${String(step)}`
    if (text.length > paramLengthMax) return `${text.slice(0, paramLengthMax).toWellFormed()}…`
  }
  return text
}

export function unknownParameter(param: string): RequestFailure {
  return invalidRequest('unknown_parameter', param, `Unknown parameter: '${param}'.`)
}

export function missingParameter(param: string): RequestFailure {
  const message = `Missing required parameter: '${param}'.`
  return invalidRequest('missing_required_parameter', param, message)
}

export function invalidValue(param: string, why: string): RequestFailure {
  return invalidRequest('invalid_value', param, `Invalid value for '${param}': ${why}.`)
}

export function invalidImage(param: string, why: string): RequestFailure {
  return invalidRequest('invalid_image', param, `Invalid image in '${param}': ${why}.`)
}

export function modelNotFound(available: readonly string[]): RequestFailure {
  return invalidRequest(
    'model_not_found',
    'model',
    `The model does not exist or is not available on this route. Available models: ${available.join(', ')}.`,
  )
}
