import type { Middleware } from 'koa'
import { defined } from '../../domain/defined.ts'
import { randomText } from '../../domain/ids.ts'
import type { ApiDeps, ApiState } from '../context.ts'

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

const methods: ReadonlySet<string> = new Set([
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
  'TRACE',
])

/** The client left before its answer was sent: nginx's number for it, on no wire. */
const clientClosedRequest = 499

/** Reports each request once, when its connection is done with it: for access log and metrics. */
export function observeRequest(deps: ApiDeps): Middleware<ApiState> {
  return async (context, next) => {
    const startedAt = performance.now()
    const { state, res, method } = context
    res.once('close', () => {
      deps.observe?.({
        route: state.route,
        method: methods.has(method) ? method : 'OTHER',
        status: res.writableFinished ? res.statusCode : clientClosedRequest,
        durationMs: performance.now() - startedAt,
        requestId: state.requestId,
        ...defined({ accountId: state.accountId, taskId: state.taskId, replayed: state.replayed }),
      })
    })
    await next()
  }
}
