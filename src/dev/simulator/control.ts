import type { IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { z } from 'zod'
import { callMatcher, callsReply } from './callLog.ts'
import type { Reply } from './reply.ts'
import { jsonReply } from './reply.ts'
import type { CallLatency } from './latency.ts'
import type { FaultPlan } from './faultPlan.ts'
import type { RateLimiter } from './rateLimiter.ts'

type Controlled = {
  readonly script: FaultPlan['script']
  readonly limit: RateLimiter['limit']
  readonly release: CallLatency['release']
  readonly strayRequests: () => number
  readonly reset: () => void
}

const scriptBody = z.strictObject({ match: callMatcher, faults: z.array(z.string()).min(1) })
const limitBody = z.strictObject({
  model: z.string().exactOptional(),
  grants: z.int().min(1),
  windowMs: z.int().min(1),
})
const releaseBody = z.strictObject({ match: callMatcher.optional() })

/** Answers requests below `/__simulator`, by which tests in other processes control the simulator. */
export async function controlReply(
  request: IncomingMessage,
  url: URL,
  controlled: Controlled,
  log: Parameters<typeof callsReply>[0],
): Promise<Reply | undefined> {
  const operation = `${request.method} ${url.pathname}`
  switch (operation) {
    case 'GET /__simulator/calls':
      return callsReply(log, url.searchParams)
    case 'GET /__simulator/stray':
      return jsonReply(200, { strayRequests: controlled.strayRequests() })
    case 'POST /__simulator/reset':
      controlled.reset()
      return jsonReply(200, {})
    case 'POST /__simulator/script':
      return withBody(request, scriptBody, ({ match, faults }) => {
        controlled.script(match, faults)
        return {}
      })
    case 'POST /__simulator/limit':
      return withBody(request, limitBody, (limit) => {
        controlled.limit(limit)
        return {}
      })
    case 'POST /__simulator/release':
      return withBody(request, releaseBody, ({ match }) => ({
        released: controlled.release(match),
      }))
    default:
      return undefined
  }
}

async function withBody<Body>(
  request: IncomingMessage,
  schema: z.ZodType<Body>,
  act: (body: Body) => object,
): Promise<Reply> {
  try {
    return jsonReply(200, act(schema.parse(JSON.parse(await text(request)))))
  } catch (error) {
    return jsonReply(400, { error: error instanceof Error ? error.message : String(error) })
  }
}
