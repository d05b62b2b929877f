import { sendJson } from '../answers/answerAccepted.ts'
import type { ApiDeps, Handler } from '../context.ts'

/** Liveness: this process answers. */
export const getHealth: Handler = async (context) => {
  sendJson(context, 200, { status: 'ok' })
  return undefined
}

/** Readiness: whether this process should be given traffic. */
export function getReadiness(deps: Pick<ApiDeps, 'ready'>): Handler {
  return async (context) => {
    if (!(await isReady(deps))) return { tag: 'not_ready' }
    sendJson(context, 200, { status: 'ready' })
    return undefined
  }
}

async function isReady({ ready }: Pick<ApiDeps, 'ready'>): Promise<boolean> {
  try {
    return await ready()
  } catch {
    return false
  }
}
