import type { IncomingMessage, ServerResponse } from 'node:http'
import { z } from 'zod'
import { actions, families } from '../../domain/models.ts'
import type { CallMatcher, SimulatorCall } from './callLog.ts'
import { parseFault } from './directives.ts'
import { checkFault } from './faults.ts'
import { parseJson, readBody } from './readBody.ts'
import { jsonReply, type Reply } from './reply.ts'
import type { SimulatorControls } from './simulator.ts'

export const controlPrefix = '/__simulator/'
const controlBodyBytesMax = 1024 * 1024

const matcherSchema = z.strictObject({
  family: z.enum(families).optional(),
  model: z.string().optional(),
  action: z.enum(actions).optional(),
  prompt: z.string().optional(),
})

const faultSpec = z.unknown().transform((value, context) => {
  const parsed = typeof value === 'string' ? parseFault(value) : checkFault(value)
  if (parsed.ok) return parsed.fault
  context.addIssue({ code: 'custom', message: parsed.message })
  return z.NEVER
})

const faultsSchema = z.strictObject({
  match: matcherSchema.optional(),
  faults: z.array(faultSpec).min(1).max(1000),
})

const limitSchema = z.strictObject({
  family: z.enum(families).optional(),
  model: z.string().optional(),
  grants: z.int().nonnegative(),
  windowMs: z.number().positive(),
  retryAfter: z.enum(['seconds', 'date', 'ms', 'retry-info', 'none', 'garbage']).optional(),
})

/** `POST faults`, `POST limits`, `POST release`, `GET calls`, and `DELETE` of the first two and calls. */
export async function serveControl(
  request: IncomingMessage,
  response: ServerResponse,
  url: URL,
  controls: SimulatorControls,
): Promise<void> {
  const reply = await route(request, url, controls)
  response.writeHead(reply.status, reply.headers).end(reply.body)
}

async function route(
  request: IncomingMessage,
  url: URL,
  controls: SimulatorControls,
): Promise<Reply> {
  const body = request.method === 'POST' ? await readJson(request) : undefined
  switch (`${request.method} ${url.pathname.slice(controlPrefix.length)}`) {
    case 'GET health':
      return jsonReply(200, { ok: true })
    case 'GET calls':
      return listCalls(url, controls)
    case 'DELETE calls':
      controls.clearCalls()
      return noContent
    case 'POST faults':
      return withBody(faultsSchema, body, ({ match = {}, faults }) => {
        controls.script(match, faults)
        return jsonReply(201, { scripted: faults.length })
      })
    case 'DELETE faults':
      controls.clearFaults()
      return noContent
    case 'POST limits':
      return withBody(limitSchema, body, (limit) => {
        controls.limit(limit)
        return jsonReply(201, { limited: true })
      })
    case 'DELETE limits':
      controls.clearLimits()
      return noContent
    case 'POST release':
      return withBody(matcherSchema, body ?? {}, (match) =>
        jsonReply(200, { released: controls.release(match) }),
      )
    default:
      return jsonReply(404, { error: `No such control: ${request.method} ${url.pathname}` })
  }
}

const noContent: Reply = { status: 204, headers: {}, body: '' }

/** JSON only: a page in a browser cannot send that here without asking first, and is never told yes. */
async function readJson(request: IncomingMessage): Promise<unknown> {
  const body = await readBody(request, controlBodyBytesMax)
  const isJson = request.headers['content-type']?.startsWith('application/json') ?? false
  return body === null || !isJson ? undefined : parseJson(body.bytes)
}

function withBody<Schema extends z.ZodType>(
  schema: Schema,
  body: unknown,
  act: (value: z.infer<Schema>) => Reply,
): Reply {
  const parsed = schema.safeParse(body)
  if (parsed.success) return act(parsed.data)
  const [issue] = parsed.error.issues
  return jsonReply(400, { error: `${issue?.path.join('.') ?? ''} ${issue?.message ?? ''}`.trim() })
}

function listCalls(url: URL, controls: SimulatorControls): Reply {
  const parsed = matcherSchema.safeParse(Object.fromEntries(url.searchParams))
  if (!parsed.success) return jsonReply(400, { error: 'Filters: family, model, action, prompt' })
  const matcher: CallMatcher = parsed.data
  return jsonReply(200, { calls: controls.calls(matcher).map(withoutTexts) })
}

/** Prompts stay in the memory of the process: what goes out names them by digest. */
function withoutTexts(call: SimulatorCall): Omit<SimulatorCall, 'prompt' | 'body'> {
  const { prompt: _prompt, body: _body, ...rest } = call
  return rest
}
