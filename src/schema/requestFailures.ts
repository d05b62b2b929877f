import type { z } from 'zod'
import type { RequestFailure } from '../domain/failure.ts'
import { invalidRequest } from '../domain/failure.ts'

type Issue = z.core.$ZodIssue

/**
 * Returns the first issue of an invalid document, as a failure that names the field. The message comes from
 * the schema and does not quote the document. The only exception is the name of an unknown field. `rename`
 * translates a path into the client's casing.
 */
export function firstFailure(
  error: { readonly issues: readonly Issue[] },
  document: unknown,
  rename: (path: readonly PropertyKey[]) => readonly PropertyKey[] = (path) => path,
): RequestFailure {
  const [issue] = error.issues
  if (issue === undefined) throw new Error('Bug: a refusal without an issue')
  const path =
    issue.code === 'unrecognized_keys' ? [...issue.path, issue.keys[0] ?? ''] : issue.path
  return describe(issue, paramPath(rename(path)), valueAt(document, path))
}

function describe(issue: Issue, param: string, value: unknown): RequestFailure {
  if (issue.code === 'unrecognized_keys') return unknownParameter(param)
  if (param === '') {
    return invalidRequest('invalid_json', null, 'The request body must be a JSON object.')
  }
  if (value === undefined) return missingParameter(param)
  if (param === 'model' && typeof value === 'string') {
    return modelNotFound(issue.code === 'invalid_value' ? issue.values.map(String) : [])
  }
  return invalidValue(param, issue.message)
}

function valueAt(document: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, step) =>
      typeof value === 'object' && value !== null && Object.hasOwn(value, step)
        ? Reflect.get(value, step)
        : undefined,
    document,
  )
}

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

/** The reason that `invalidImage` gives for data of no supported type. */
export const notAnImage = 'the data is not a complete PNG, JPEG or WebP image'

export function modelNotFound(available: readonly string[]): RequestFailure {
  return invalidRequest(
    'model_not_found',
    'model',
    `The model does not exist or is not available on this route. Available models: ${available.join(', ')}.`,
  )
}
