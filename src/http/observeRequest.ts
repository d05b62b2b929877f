import type { Middleware } from 'koa'
import type { ApiState } from './apiContext.ts'
import type { ApiDeps } from './apiDeps.ts'

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
        ...(state.accountId === undefined ? {} : { accountId: state.accountId }),
        ...(state.taskId === undefined ? {} : { taskId: state.taskId }),
        ...(state.replayed === undefined ? {} : { replayed: state.replayed }),
      })
    })
    await next()
  }
}
