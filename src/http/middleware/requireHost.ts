import type { Middleware } from 'koa'
import { invalidRequest } from '../../domain/failure.ts'
import type { ApiState } from '../context.ts'
import { writeFailure } from '../errors.ts'

const oneHost = invalidRequest('invalid_request', 'Host', 'The request must name exactly one Host.')

/**
 * RFC 9112 section 3.2. Nothing here reads the Host, but a proxy before us does, and two of them may be
 * read differently. Node would refuse the missing one without a body.
 */
export function requireHost(): Middleware<ApiState> {
  return async (context, next) => {
    const { httpVersion, headersDistinct } = context.req
    const hosts = headersDistinct['host']?.length ?? 0
    if (hosts === 1 || (hosts === 0 && httpVersion === '1.0')) return next()
    writeFailure(context, oneHost)
    return undefined
  }
}
