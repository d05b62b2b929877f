import type { RequestFailure } from '../../domain/failure.ts'
import { invalidRequest } from '../../domain/failure.ts'

/**
 * Checks that the type is `application/json`. Any parameters are allowed, but a charset must be UTF-8.
 * Returns the failure, or `undefined`.
 */
export function checkJsonType(header: string | undefined): RequestFailure | undefined {
  const [type, ...parameters] = (header ?? '').split(';').map((part) => part.trim().toLowerCase())
  if (type !== 'application/json') return unsupported('must be application/json')
  const charset = parameters.find((parameter) => /^charset\s*=/.test(parameter))
  const name = charset?.replace(/^charset\s*=\s*/, '').replaceAll('"', '')
  return name === undefined || name === 'utf-8' || name === 'utf8'
    ? undefined
    : unsupported('must have the charset UTF-8')
}

/** Checks that the type is `multipart/form-data` with a boundary. Returns the failure, or `undefined`. */
export function checkFormType(header: string | undefined): RequestFailure | undefined {
  const text = header ?? ''
  if (!/^multipart\/form-data\s*(?:;|$)/i.test(text)) {
    return unsupported('must be multipart/form-data')
  }
  return boundaryOf(text) === undefined ? unusableBoundary : undefined
}

/** Returns the boundary of a multipart content type, or `undefined` when there is none. */
export function boundaryOf(contentType: string): string | undefined {
  const found = /;\s*boundary\s*=\s*(?:"([^"]+)"|([^\s;"]+))/i.exec(contentType)
  return found?.[1] ?? found?.[2]
}

function unsupported(what: string): RequestFailure {
  return invalidRequest('unsupported_content_type', 'Content-Type', `The Content-Type ${what}.`)
}

/** Failure for a content type without a boundary, or with a boundary that the form parser cannot use. */
export const unusableBoundary = unsupported('must name the boundary of its parts')
