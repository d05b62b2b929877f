import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { z } from 'zod'
import type { CallLog } from './calls.ts'
import { matcherSchema } from './calls.ts'
import { parseFault } from './faults.ts'
import type { Plan } from './plan.ts'
import { parseJson } from './readOrder.ts'
import type { Reply } from './reply.ts'
import { jsonReply } from './reply.ts'

// The simulator's functions over HTTP, for tests whose simulator runs in another process:
//
//     GET  /__simulator/calls?count=2&timeoutMs=5000&prompt=cat    {calls: […]}
//     POST /__simulator/script    {match?, faults: ['429 retry-after=3', 'reset']}
//     POST /__simulator/limit     {model?, grants, windowMs}
//     POST /__simulator/release   {match?}    {released: 1}
//     GET  /__simulator/stray     {strayRequests: 0}
//
// A query or body that cannot be used is answered with 400 and `{error: 'the reason'}`.

const waitMsMax = 600_000

const callsQuery = z.strictObject({
  ...matcherSchema.shape,
  /** Answer when so many matching calls have begun, or else at the end of `timeoutMs`. */
  count: z.coerce.number().pipe(z.int().nonnegative()).optional(),
  timeoutMs: z.coerce.number().pipe(z.int().nonnegative().max(waitMsMax)).optional(),
})

const faultText = z.string().transform((given, context) => {
  const parsed = parseFault(given)
  if (parsed.ok) return parsed.value
  context.addIssue(parsed.failure)
  return z.NEVER
})
const scriptBody = z.strictObject({
  match: matcherSchema.optional(),
  faults: z.array(faultText).min(1),
})
const limitBody = z.strictObject({
  model: z.string().optional(),
  grants: z.int().nonnegative(),
  windowMs: z.number().positive(),
})
const releaseBody = z.strictObject({ match: matcherSchema.optional() })

type Controls = {
  readonly log: CallLog
  readonly plan: Plan
  readonly strayRequests: () => number
}

/** Answers a request that controls the simulator. Returns `undefined` for any other request. */
export async function controlReply(
  request: IncomingMessage,
  response: ServerResponse,
  url: URL,
  { log, plan, strayRequests }: Controls,
): Promise<Reply | undefined> {
  switch (`${request.method} ${url.pathname.replace('/__simulator/', '')}`) {
    case 'GET calls':
      return callsReply(log, url.searchParams, response)
    case 'GET stray':
      return jsonReply(200, { strayRequests: strayRequests() })
    case 'POST script':
      return withBody(request, scriptBody, ({ match = {}, faults }) => plan.script(match, faults))
    case 'POST limit':
      return withBody(request, limitBody, plan.limit)
    case 'POST release':
      return withBody(request, releaseBody, ({ match }) => ({ released: plan.release(match) }))
    default:
      return undefined
  }
}

async function callsReply(
  log: CallLog,
  query: URLSearchParams,
  response: ServerResponse,
): Promise<Reply> {
  const parsed = callsQuery.safeParse(Object.fromEntries(query))
  if (!parsed.success) return refused(parsed.error)
  const { count = 0, timeoutMs = 0, ...matcher } = parsed.data
  const left = new AbortController()
  response.once('close', () => left.abort())
  return jsonReply(200, { calls: await log.untilCalls(count, matcher, timeoutMs, left.signal) })
}

/** Gives the body to `act`, and answers with what that returns. An absent body is an empty object. */
async function withBody<Body>(
  request: IncomingMessage,
  schema: z.ZodType<Body>,
  act: (body: Body) => object | void,
): Promise<Reply> {
  const body = await text(request)
  const parsed = schema.safeParse(body === '' ? {} : parseJson(body))
  return parsed.success ? jsonReply(200, act(parsed.data) ?? {}) : refused(parsed.error)
}

function refused(error: z.ZodError): Reply {
  return jsonReply(400, { error: z.prettifyError(error) })
}
