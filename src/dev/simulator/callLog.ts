import { createHash, randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import type { Action, Family } from '../../domain/models/models.ts'
import { actions, families } from '../../domain/models/models.ts'
import type { Reply } from './reply.ts'
import { jsonReply } from './reply.ts'

/**
 * One call as the vendor saw it. A field is null as long as its value is unknown, and when it does not apply.
 */
export type SimulatorCall = {
  /** The id of the call. The answer has the same text as its `x-request-id`. */
  readonly id: string
  readonly family: Family
  /** Epoch milliseconds when the request's headers arrived. */
  readonly at: number
  /** Epoch milliseconds when the answer was sent or the connection was lost. */
  readonly finishedAt: number | null
  readonly action: Action | null
  readonly model: string | null
  readonly prompt: string | null
  readonly promptSha256: string | null
  readonly apiKeyPresent: boolean
  /** The first 8 hexadecimal digits of the key's SHA-256. They show which channel made the call. */
  readonly apiKeyDigest: string | null
  readonly idempotencyKey: string | null
  readonly headers: Readonly<Record<string, string>>
  /** The JSON body, or the fields of the form. Long texts, such as images, are replaced by their length. */
  readonly body: unknown
  readonly bodyBytes: number
  readonly bodySha256: string | null
  readonly images: readonly LoggedImage[]
  /**
   * The kind of the fault that the call got. Other values: `limit` (stopped by a rate limit), `invalid`
   * (broke a rule of the vendor), `bad-key`, `bad-directive` and `simulator-bug`.
   */
  readonly fault: string | null
  readonly status: number | null
  /**
   * True when a real vendor would charge for the call, because the call made an image. It does not matter
   * whether the answer arrived.
   */
  readonly billed: boolean
  /** True when the client closed the connection before the whole answer was sent. */
  readonly clientAborted: boolean
}

export type LoggedImage = {
  readonly mimeType: string
  readonly sha256: string
  readonly bytes: number
}

/** The schema of a `CallMatcher`. */
export const callMatcher = z.strictObject({
  family: z.enum(families).exactOptional(),
  model: z.string().exactOptional(),
  action: z.enum(actions).exactOptional(),
  prompt: z.string().exactOptional(),
})

/**
 * Selects calls by any of these fields. `prompt` is a part of the prompt. The other fields are whole values.
 */
export type CallMatcher = Readonly<z.infer<typeof callMatcher>>

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
    async waitForCalls(count, matcher, timeoutMs = waitTimeoutMs) {
      const deadlineAtMs = Date.now() + timeoutMs
      for (;;) {
        const begun = list(matcher)
        if (begun.length >= count) return begun
        if (Date.now() > deadlineAtMs) {
          throw new Error(
            `The simulator saw ${begun.length} of ${count} calls within ${timeoutMs} ms`,
          )
        }
        await sleep(waitPollMs)
      }
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

/**
 * Returns the answer to `GET /__simulator/calls`. The query filters the calls as a matcher does. The answer
 * contains prompts and bodies only with `full=true`: otherwise of a prompt only the SHA-256.
 */
export function callsReply(log: CallLog, query: URLSearchParams): Reply {
  const { full, ...filters } = Object.fromEntries(query)
  const parsed = callMatcher.safeParse(filters)
  if (!parsed.success) return jsonReply(400, { error: 'Filters: family, model, action, prompt' })
  if (full === 'true') return jsonReply(200, { calls: log.list(parsed.data) })
  const calls = log.list(parsed.data).map(({ prompt: _prompt, body: _body, ...rest }) => rest)
  return jsonReply(200, { calls })
}
