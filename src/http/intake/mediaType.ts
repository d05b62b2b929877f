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
  const charset = parameterOf(header, 'charset') ?? 'utf-8'
  return /^utf-?8$/i.test(charset) ? undefined : unsupported('must have the charset UTF-8')
}

/** The letters that a boundary may have (RFC 2046 section 5.1.1). */
const usableBoundary = /^[0-9A-Za-z'()+_,./:=? -]{1,70}$/

/** Returns the boundary of a form. Fails when the type is not `multipart/form-data` with a boundary. */
export function formBoundary(header = ''): Result<string, RequestFailure> {
  if (mediaTypeOf(header) !== 'multipart/form-data') {
    return fail(unsupported('must be multipart/form-data'))
  }
  const boundary = parameterOf(header, 'boundary') ?? ''
  return usableBoundary.test(boundary)
    ? succeed(boundary)
    : fail(unsupported('must name the boundary of its parts, with at most 70 letters'))
}

function mediaTypeOf(header: string): string {
  return header.replace(/;.*/s, '').trim().toLowerCase()
}

const parameter = /\s*;\s*([^\s;="]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]*))/gy

/** Returns a parameter of a header (RFC 9110 section 5.6.6). `name` is in lower case. */
function parameterOf(header: string, name: string): string | undefined {
  const parameters = [...header.replace(/^[^;]*/, '').matchAll(parameter)]
  const [, , quoted, plain] = parameters.find(([, key]) => key?.toLowerCase() === name) ?? []
  return quoted ?? plain
}

function unsupported(what: string): RequestFailure {
  return invalidRequest('unsupported_content_type', 'Content-Type', `The Content-Type ${what}.`)
}
