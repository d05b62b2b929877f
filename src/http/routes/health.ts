import { sendJson } from '../answers/sendBody.ts'
import type { ApiDeps, Handler } from '../context.ts'

/** `GET /healthz`: answers 200 as long as this API process can answer. */
export function getHealth(): Handler {
  return async (context) => {
    sendJson(context, 200, { status: 'ok' })
    return undefined
  }
}

/** `GET /readyz`: answers whether a load balancer should send requests to this API process. */
export function getReadiness(deps: Pick<ApiDeps, 'ready'>): Handler {
  return async (context) => {
    const ready = await deps.ready().catch(() => false)
    if (!ready) return { tag: 'not_ready' }
    sendJson(context, 200, { status: 'ready' })
    return undefined
  }
}
