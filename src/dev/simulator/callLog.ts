import { createHash, randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import type { Family } from '../../domain/models/models.ts'
import { actions, families } from '../../domain/models/models.ts'

const loggedImageSchema = z.object({ mimeType: z.string(), sha256: z.string(), bytes: z.number() })

const callSchema = z.object({
  /** The id of the call. The answer has the same text as its `x-request-id`. */
  id: z.string(),
  family: z.enum(families),
  /** Epoch milliseconds when the request's headers arrived. */
  at: z.number(),
  /** Epoch milliseconds when the answer was sent or the connection was lost. */
  finishedAt: z.number().nullable(),
  action: z.enum(actions).nullable(),
  model: z.string().nullable(),
  prompt: z.string().nullable(),
  promptSha256: z.string().nullable(),
  apiKeyPresent: z.boolean(),
  /** The first 8 hexadecimal digits of the key's SHA-256. They show which channel made the call. */
  apiKeyDigest: z.string().nullable(),
  idempotencyKey: z.string().nullable(),
  headers: z.record(z.string(), z.string()).readonly(),
  /** The JSON body, or the fields of the form. Long texts, such as images, are replaced by their length. */
  body: z.unknown(),
  bodyBytes: z.number(),
  bodySha256: z.string().nullable(),
  images: z.array(loggedImageSchema.readonly()).readonly(),
  /**
   * The kind of the fault that the call got. Other values: `limit` (stopped by a rate limit), `invalid`
   * (broke a rule of the vendor), `bad-key`, `bad-directive` and `simulator-bug`.
   */
  fault: z.string().nullable(),
  status: z.number().nullable(),
  /**
   * True when a real vendor would charge for the call, because the call made an image. It does not matter
   * whether the answer arrived.
   */
  billed: z.boolean(),
  /** True when the client closed the connection before the whole answer was sent. */
  clientAborted: z.boolean(),
})

/**
 * One call as the vendor saw it. A field is null as long as its value is unknown, and when it does not apply.
 */
export type SimulatorCall = Readonly<z.infer<typeof callSchema>>

/** What `GET /__simulator/calls?full=true` answers. */
export const fullCallsSchema = z.object({ calls: z.array(callSchema.readonly()) })

/** The fields of `CallMatcher`. */
export const matcherSchema = z.strictObject({
  family: z.enum(families).optional(),
  model: z.string().optional(),
  action: z.enum(actions).optional(),
  prompt: z.string().optional(),
})

/**
 * Selects calls by any of these fields. `prompt` is a part of the prompt. The other fields are whole values.
 */
export type CallMatcher = Readonly<z.infer<typeof matcherSchema>>

/** Returns whether the call has every value that the matcher names. */
export function matches(
  { family, model, action, prompt }: CallMatcher,
  call: Pick<SimulatorCall, 'family' | 'model' | 'action' | 'prompt'>,
): boolean {
  if (family !== undefined && family !== call.family) return false
  if (model !== undefined && model !== call.model) return false
  if (action !== undefined && action !== call.action) return false
  return prompt === undefined || (call.prompt?.includes(prompt) ?? false)
}

/** The log entry of a running call. */
export type CallEntry = {
  readonly current: () => SimulatorCall
  /** Sets fields of the entry. */
  readonly note: (changes: Partial<SimulatorCall>) => void
}

export type CallLog = {
  /** Opens an entry for a request whose headers have arrived. */
  readonly open: (request: IncomingMessage, family: Family, key: string | undefined) => CallEntry
  /** Returns the matching calls, oldest first. */
  readonly list: (matcher?: CallMatcher) => SimulatorCall[]
  /**
   * Resolves with the matching calls when `count` of them have begun, or else at the end of `timeoutMs` or when
   * the signal aborts.
   */
  readonly untilCalls: (
    count: number,
    matcher: CallMatcher,
    timeoutMs: number,
    signal?: AbortSignal,
  ) => Promise<SimulatorCall[]>
  /** Resolves when `count` matching calls have begun. Rejects when this takes longer than `timeoutMs`. */
  readonly waitForCalls: (
    count: number,
    matcher?: CallMatcher,
    timeoutMs?: number,
  ) => Promise<SimulatorCall[]>
  readonly clear: () => void
}

/**
 * Limit for the calls in the log. Beyond this number the older half is removed, so that a demo can run for
 * weeks without filling the memory.
 */
const callsMax = 20_000
const waitPollMs = 5
const waitTimeoutMs = 20_000

export function createCallLog(): CallLog {
  let calls: { call: SimulatorCall }[] = []

  function list(matcher: CallMatcher = {}): SimulatorCall[] {
    return calls.map(({ call }) => call).filter((call) => matches(matcher, call))
  }

  async function untilCalls(
    count: number,
    matcher: CallMatcher,
    timeoutMs: number,
    signal?: AbortSignal,
  ): Promise<SimulatorCall[]> {
    const deadlineAtMs = Date.now() + timeoutMs
    for (;;) {
      const begun = list(matcher)
      const over = Date.now() > deadlineAtMs || signal?.aborted === true
      if (begun.length >= count || over) return begun
      await sleep(waitPollMs)
    }
  }

  return {
    open(request, family, key) {
      const entry = { call: newCall(request, family, key) }
      calls.push(entry)
      if (calls.length > callsMax) calls = calls.slice(-callsMax / 2)
      return {
        current: () => entry.call,
        note(changes) {
          entry.call = { ...entry.call, ...changes }
        },
      }
    },
    list,
    untilCalls,
    async waitForCalls(count, matcher = {}, timeoutMs = waitTimeoutMs) {
      const begun = await untilCalls(count, matcher, timeoutMs)
      if (begun.length >= count) return begun
      throw new Error(`The simulator saw ${begun.length} of ${count} calls within ${timeoutMs} ms`)
    },
    clear() {
      calls = []
    },
  }
}

const loggedHeaders = [
  'content-type',
  'content-length',
  'transfer-encoding',
  'accept',
  'accept-encoding',
  'user-agent',
  'traceparent',
]

function newCall(request: IncomingMessage, family: Family, key: string | undefined): SimulatorCall {
  const headers = loggedHeaders.flatMap((name) => {
    const value = request.headers[name]
    return value === undefined ? [] : [[name, value.toString()] as const]
  })
  return {
    id: `req_${randomBytes(12).toString('hex')}`,
    family,
    at: Date.now(),
    finishedAt: null,
    action: null,
    model: null,
    prompt: null,
    promptSha256: null,
    apiKeyPresent: key !== undefined,
    apiKeyDigest: key === undefined ? null : digestOf(key).slice(0, 8),
    idempotencyKey: request.headers['idempotency-key']?.toString() ?? null,
    headers: Object.fromEntries(headers),
    body: null,
    bodyBytes: 0,
    bodySha256: null,
    images: [],
    fault: null,
    status: null,
    billed: false,
    clientAborted: false,
  }
}

/** Returns the SHA-256 in lower-case hexadecimal. */
export function digestOf(value: string | Uint8Array): string {
  return createHash('sha256').update(value).digest('hex')
}

const loggedTextCharactersMax = 4096

/** Returns a body as the log keeps it: every long text is replaced by its length. */
export function withoutLongTexts(value: unknown): unknown {
  if (typeof value === 'string') {
    return value.length <= loggedTextCharactersMax ? value : `<${value.length} characters>`
  }
  if (Array.isArray(value)) return value.map(withoutLongTexts)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, withoutLongTexts(item)]),
  )
}
