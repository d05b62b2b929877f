import type { z } from 'zod'
import type { RequestFailure } from '../domain/failure.ts'
import { invalidRequest } from '../domain/failure.ts'
import {
  invalidValue,
  missingParameter,
  paramPath,
  unknownParameter,
} from '../domain/requestFailures.ts'

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
