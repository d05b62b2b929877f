import type { Middleware } from 'koa'
import type { ApiState } from '../context.ts'

/** Headers a browser's script may read; the rest is hidden from it (Fetch standard). */
const exposed = [
  'Accept-Ranges',
  'Allow',
  'Content-Disposition',
  'Content-Length',
  'Content-Range',
  'ETag',
  'Idempotent-Replayed',
  'Location',
  'Retry-After',
  'WWW-Authenticate',
  'x-request-id',
  'x-should-retry',
  'X-Task-Id',
].join(', ')

/** Chromium's cap. */
const preflightSeconds = 7200

/** A list of header names, as a browser sends it. */
const headerNames = /^[0-9A-Za-z!#$%&'*+.^_`|~-]+(?:\s*,\s*[0-9A-Za-z!#$%&'*+.^_`|~-]+)*$/
const headerNamesLengthMax = 4096

/**
 * Any origin, no credentials: keys travel in a header a page must know itself. The preflight comes
 * without one, so it is answered here, before authentication; names are echoed since `*` would not
 * cover Authorization (research/wire.md section 4).
 */
export function cors(): Middleware<ApiState> {
  return async (context, next) => {
    context.set('Access-Control-Allow-Origin', '*')
    context.set('Access-Control-Expose-Headers', exposed)
    if (context.method !== 'OPTIONS' || !context.get('Access-Control-Request-Method')) {
      return next()
    }
    const requested = context.get('Access-Control-Request-Headers')
    if (requested.length <= headerNamesLengthMax && headerNames.test(requested)) {
      context.set('Access-Control-Allow-Headers', requested)
    }
    context.vary('Access-Control-Request-Headers')
    context.set('Access-Control-Allow-Methods', 'GET, HEAD, POST, OPTIONS')
    context.set('Access-Control-Max-Age', String(preflightSeconds))
    context.status = 204
    return undefined
  }
}
