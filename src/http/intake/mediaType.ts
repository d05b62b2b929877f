import type { RequestFailure } from '../../domain/failure.ts'
import { invalidRequest } from '../../domain/failure.ts'
import type { Result } from '../../domain/result.ts'
import { fail, succeed } from '../../domain/result.ts'

/**
 * Checks that the type is `application/json`. Any parameters are allowed, but a charset must be UTF-8.
 * Returns the failure, or `undefined`.
 */
export function checkJsonType(header = ''): RequestFailure | undefined {
  if (mediaTypeOf(header) !== 'application/json') return unsupported('must be application/json')
  const charset = parametersOf(header).values.get('charset')?.[0] ?? 'utf-8'
  return /^utf-?8$/i.test(charset) ? undefined : unsupported('must have the charset UTF-8')
}

/** Limit for the letters of a boundary (RFC 2046 section 5.1.1). */
const boundaryLengthMax = 70

/** Returns the boundary of a form. Fails when the type is not `multipart/form-data` with a boundary. */
export function formBoundary(header = ''): Result<string, RequestFailure> {
  if (mediaTypeOf(header) !== 'multipart/form-data') {
    return fail(unsupported('must be multipart/form-data'))
  }
  const boundary = parametersOf(header).values.get('boundary')?.[0] ?? ''
  return boundary === '' || boundary.length > boundaryLengthMax
    ? fail(unsupported('must name the boundary of its parts, in at most 70 characters'))
    : succeed(boundary)
}

/** Returns the value of a header without its parameters, in lower case. */
export function mediaTypeOf(header: string): string {
  return header.replace(/;.*/s, '').trim().toLowerCase()
}

const parameter = /\s*;\s*([^\s;="]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]*))/gy

/**
 * Returns the parameters of a header (RFC 9110 section 5.6.6) by their names in lower case. A name may have several
 * values. `isWhole` is false when the header goes on with something that is no parameter. Escapes stay as they are.
 */
export function parametersOf(header: string): {
  readonly values: ReadonlyMap<string, readonly string[]>
  readonly isWhole: boolean
} {
  const list = header.replace(/^[^;]*/, '')
  const values = new Map<string, string[]>()
  let end = 0
  for (const [text, name = '', quoted, plain = ''] of list.matchAll(parameter)) {
    const key = name.toLowerCase()
    values.set(key, [...(values.get(key) ?? []), quoted ?? plain])
    end += text.length
  }
  return { values, isWhole: /^[\s;]*$/.test(list.slice(end)) }
}

function unsupported(what: string): RequestFailure {
  return invalidRequest('unsupported_content_type', 'Content-Type', `The Content-Type ${what}.`)
}
