import type { IncomingMessage } from 'node:http'
import { z } from 'zod'
import type { CallLog } from './callLog.ts'
import { matcherSchema } from './callLog.ts'
import type { FaultPlan } from './faultPlan.ts'
import { parseFault } from './faultPlan.ts'
import type { CallLatency } from './latency.ts'
import type { RateLimiter } from './rateLimiter.ts'
import type { Reply } from './reply.ts'
import { jsonReply } from './reply.ts'

// The simulator's functions over HTTP, for tests whose simulator runs in another process:
//
//     GET  /__simulator/calls?full=true&count=2&timeoutMs=5000&prompt=cat    {calls: […]}
//     POST /__simulator/script    {match?, faults: ['429 retry-after=3', 'reset']}
//     POST /__simulator/limit     {model?, grants, windowMs}
//     POST /__simulator/release   {match?}    {released: 1}
//     POST /__simulator/reset
//     GET  /__simulator/stray     {strayRequests: 0}
//
// A query or body that cannot be used is answered with 400 and `{error: 'the reason'}`.

const base = '/__simulator/'
const bodyBytesMax = 1024 * 1024
const waitMsMax = 600_000

const callsQuery = z.strictObject({
  ...matcherSchema.shape,
  /** With prompts and bodies. Without it, the answer contains only the SHA-256 of a prompt. */
  full: z.enum(['true', 'false']).optional(),
  /** Answer when so many matching calls have begun, or else at the end of `timeoutMs`. */
  count: z.coerce.number().pipe(z.int().nonnegative()).optional(),
  timeoutMs: z.coerce.number().pipe(z.int().nonnegative().max(waitMsMax)).optional(),
})

const faultText = z.string().superRefine((text, context) => {
  const parsed = parseFault(text)
  if (!parsed.ok) context.addIssue(parsed.failure)
})

const bodies = {
  script: z.strictObject({ match: matcherSchema.optional(), faults: z.array(faultText).min(1) }),
  limit: z.strictObject({
    model: z.string().optional(),
    grants: z.int().nonnegative(),
    windowMs: z.number().positive(),
  }),
  release: z.strictObject({ match: matcherSchema.optional() }),
}

/** What can be controlled. */
export type Controlled = {
  readonly calls: CallLog['list']
  readonly untilCalls: CallLog['untilCalls']
  readonly script: FaultPlan['script']
  readonly limit: RateLimiter['limit']
  readonly release: CallLatency['release']
  readonly strayRequests: () => number
  readonly reset: () => void
}

/**
 * Answers a request that controls the simulator. Returns `undefined` for any other request. `gone` aborts when
 * the client has left.
 */
export async function controlReply(
  request: IncomingMessage,
  url: URL,
  simulator: Controlled,
  gone: AbortSignal,
): Promise<Reply | undefined> {
  switch (`${request.method} ${url.pathname}`) {
    case `GET ${base}calls`:
      return callsReply(url.searchParams, simulator, gone)
    case `GET ${base}stray`:
      return jsonReply(200, { strayRequests: simulator.strayRequests() })
    case `POST ${base}script`:
      return withBody(request, bodies.script, ({ match = {}, faults }) => {
        simulator.script(match, faults)
        return {}
      })
    case `POST ${base}limit`:
      return withBody(request, bodies.limit, ({ model, grants, windowMs }) => {
        simulator.limit(model === undefined ? { grants, windowMs } : { model, grants, windowMs })
        return {}
      })
    case `POST ${base}release`:
      return withBody(request, bodies.release, ({ match }) => ({
        released: simulator.release(match),
      }))
    case `POST ${base}reset`:
      simulator.reset()
      return jsonReply(200, {})
    default:
      return undefined
  }
}

async function callsReply(
  query: URLSearchParams,
  simulator: Controlled,
  gone: AbortSignal,
): Promise<Reply> {
  const parsed = callsQuery.safeParse(Object.fromEntries(query))
  if (!parsed.success) return refused(parsed.error)
  const { full, count = 0, timeoutMs = 0, ...matcher } = parsed.data
  await simulator.untilCalls(count, matcher, timeoutMs, gone)
  const found = simulator.calls(matcher)
  const calls =
    full === 'true' ? found : found.map(({ prompt: _prompt, body: _body, ...rest }) => rest)
  return jsonReply(200, { calls })
}

async function withBody<Body>(
  request: IncomingMessage,
  schema: z.ZodType<Body>,
  act: (body: Body) => unknown,
): Promise<Reply> {
  const parsed = schema.safeParse(await readJson(request))
  return parsed.success ? jsonReply(200, act(parsed.data)) : refused(parsed.error)
}

/** Returns the body. An absent body is an empty object. Returns `undefined` when it is no JSON, or too large. */
async function readJson(request: IncomingMessage): Promise<unknown> {
  let text = ''
  const received: AsyncIterable<string> = request.setEncoding('utf8')
  for await (const chunk of received) {
    if (text.length <= bodyBytesMax) text += chunk
  }
  if (text === '') return {}
  try {
    return text.length > bodyBytesMax ? undefined : JSON.parse(text)
  } catch {
    return undefined
  }
}

function refused(error: z.ZodError): Reply {
  return jsonReply(400, { error: z.prettifyError(error) })
}
