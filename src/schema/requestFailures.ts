import type { z } from 'zod'
import type { RequestFailure } from '../domain/failure.ts'
import { invalidRequest } from '../domain/failure.ts'

type Issue = z.core.$ZodIssue

/**
 * The first thing wrong with a document, as a failure that names the field. Texts come from the schemas
 * and never quote the document; an unknown field's name is all that is echoed. `rename` turns a path
 * back into the client's own casing.
 */
export function firstFailure(
  error: z.ZodError,
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
  if (issue.code === 'unrecognized_keys') {
    return invalidRequest('unknown_parameter', param, `Unknown parameter: '${param}'.`)
  }
  if (param === '') {
    return invalidRequest('invalid_json', null, 'The request body must be a JSON object.')
  }
  if (value === undefined) {
    const message = `Missing required parameter: '${param}'.`
    return invalidRequest('missing_required_parameter', param, message)
  }
  if (param === 'model' && typeof value === 'string') return modelNotFound(issue)
  return invalidRequest('invalid_value', param, `Invalid value for '${param}': ${issue.message}.`)
}

function modelNotFound(issue: Issue): RequestFailure {
  const known = issue.code === 'invalid_value' ? issue.values.map(String).join(', ') : ''
  return invalidRequest(
    'model_not_found',
    'model',
    `The model does not exist, or not on this route. Models here: ${known}.`,
  )
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

/** Longest `param` of an answer: an unknown key is the client's own text, and may be megabytes. */
const paramLengthMax = 200

/** `['input_images', 0, 'data']` as `input_images[0].data` (design section 4, Small print). */
export function paramPath(path: readonly PropertyKey[]): string {
  let text = ''
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`
    else text += text === '' ? String(step) : `.${String(step)}`
    if (text.length > paramLengthMax) return `${text.slice(0, paramLengthMax).toWellFormed()}…`
  }
  return text
}
