import type { Middleware } from 'koa'
import { randomText } from '../domain/ids.ts'
import type { ApiState } from './apiContext.ts'
import type { ApiDeps } from './apiDeps.ts'

export function newRequestId(randomBytes: ApiDeps['randomBytes']): string {
  return `req_${randomText(randomBytes, 24)}`
}

/**
 * Names the request and sets what every answer carries, whatever comes of it. A client's own
 * `x-request-id` is not taken over: it would let one client forge another's log lines.
 */
export function startRequest(deps: ApiDeps): Middleware<ApiState> {
  return async (context, next) => {
    const requestId = newRequestId(deps.randomBytes)
    context.state = { requestId, route: 'unmatched', envelope: 'full' }
    context.set('x-request-id', requestId)
    context.set('Cache-Control', 'no-store')
    context.set('X-Content-Type-Options', 'nosniff')
    await next()
  }
}
