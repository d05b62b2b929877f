import { createHash, randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import type { Family } from '../../domain/models/models.ts'
import { actions, families } from '../../domain/models/models.ts'

const text = z.string().nullable().default(null)
const loggedImage = z.object({ mimeType: z.string(), sha256: z.string(), bytes: z.number() })

const callSchema = z.object({
  /** The id of the call. The answer has the same text as its `x-request-id`. */
  id: z.string(),
  family: z.enum(families),
  /** Epoch milliseconds when the request's headers arrived. */
  at: z.number(),
  action: z.enum(actions).nullable().default(null),
  /** `stray`: a request for a URL that an answer named, which no correct client makes. */
  model: text,
  prompt: text,
  /** The first 8 hexadecimal digits of the key's SHA-256. They show which channel made the call. Null without a key. */
  apiKeyDigest: text,
  idempotencyKey: text,
  headers: z.record(z.string(), z.string()),
  /** The address that the request came from. */
  client: text,
  /** The JSON body, or the fields of the form. Long texts, such as images, are replaced by their length. */
  body: z.unknown(),
  bodyBytes: z.number().default(0),
  bodySha256: text,
  images: z.array(loggedImage).default([]),
  /**
   * The kind of the fault that the call got. Other values: `invalid` (broke a rule of the vendor), `bad-key`,
   * `bad-directive` and `simulator-bug`.
   */
  fault: text,
  status: z.number().nullable().default(null),
  /** The header `retry-after` of the answer. */
  retryAfter: text,
  /** Epoch milliseconds when the answer was over. */
  endedAt: z.number().nullable().default(null),
  /**
   * True when a real vendor would charge for the call: it made an image, whether or not the answer arrived.
   */
  billed: z.boolean().default(false),
  /** True when the connection was closed before the whole answer was sent. */
  clientAborted: z.boolean().default(false),
})

/**
 * One call as the vendor saw it. A field is null as long as its value is unknown, and when it does not apply.
 */
export type SimulatorCall = z.infer<typeof callSchema>
export type LoggedImage = Readonly<z.infer<typeof loggedImage>>

/** What `GET /__simulator/calls` answers. */
export const callsSchema = z.object({ calls: z.array(callSchema) })

export const matcherSchema = z.strictObject({
  family: z.enum(families).optional(),
  model: z.string().optional(),
  prompt: z.string().optional(),
})

/** Selects calls by family, model, and a part of the prompt. */
export type CallMatcher = Readonly<z.infer<typeof matcherSchema>>

/** Returns whether the call has every value that the matcher names. */
export function matches(
  { family, model, prompt }: CallMatcher,
  call: Pick<SimulatorCall, 'family' | 'model' | 'prompt'>,
): boolean {
  return (
    (family ?? call.family) === call.family &&
    (model ?? call.model) === call.model &&
    (prompt === undefined || call.prompt?.includes(prompt) === true)
  )
}

/** Beyond this number of calls the older half is removed, so that a demo can run for weeks. */
const callsMax = 20_000
const waitPollMs = 5

export type CallLog = ReturnType<typeof createCallLog>

export function createCallLog() {
  let calls: SimulatorCall[] = []

  /** Returns the matching calls, oldest first. A call is in the log as soon as its headers have arrived. */
  function list(matcher: CallMatcher = {}): SimulatorCall[] {
    return calls.filter((call) => matches(matcher, call)).map((call) => ({ ...call }))
  }

  /** Resolves with the matching calls when there are `count`, or at the end of `timeoutMs`. */
  async function untilCalls(
    count: number,
    matcher: CallMatcher,
    timeoutMs: number,
  ): Promise<SimulatorCall[]> {
    const deadlineAtMs = Date.now() + timeoutMs
    for (;;) {
      const begun = list(matcher)
      if (begun.length >= count || Date.now() > deadlineAtMs) return begun
      await sleep(waitPollMs, undefined, { ref: false })
    }
  }

  /** Adds a request whose headers have arrived. The caller completes what it returns. */
  function open(
    { headers, socket }: IncomingMessage,
    family: Family,
    key: string | undefined,
  ): SimulatorCall {
    const logged = Object.entries(headers).filter(([name]) => loggedHeaders.has(name))
    const call = callSchema.parse({
      id: `req_${randomBytes(12).toString('hex')}`,
      family,
      at: Date.now(),
      apiKeyDigest: key === undefined ? null : digestOf(key).slice(0, 8),
      idempotencyKey: headers['idempotency-key']?.toString() ?? null,
      headers: Object.fromEntries(logged),
      client: socket.remoteAddress,
      body: null,
    })
    calls.push(call)
    if (calls.length > callsMax) calls = calls.slice(-callsMax / 2)
    return call
  }

  return { list, untilCalls, open }
}

const loggedHeaders = new Set(['content-type', 'content-length', 'transfer-encoding'])

/** Returns the SHA-256 in lower-case hexadecimal. */
export function digestOf(value: string | Uint8Array): string {
  return createHash('sha256').update(value).digest('hex')
}
