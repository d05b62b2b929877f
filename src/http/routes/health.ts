import { sendJson } from '../answers/sendBody.ts'
import type { ApiDeps, Handler } from '../context.ts'

/** `GET /healthz`: this process answers. */
export function getHealth(): Handler {
  return async (context) => {
    sendJson(context, 200, { status: 'ok' })
    return undefined
  }
}

/** `GET /readyz`: whether a load balancer should send requests to this process. */
export function getReadiness(deps: Pick<ApiDeps, 'ready'>): Handler {
  return async (context) => {
    const ready = await deps.ready().catch(() => false)
    if (!ready) return { tag: 'not_ready' }
    sendJson(context, 200, { status: 'ready' })
    return undefined
  }
}
