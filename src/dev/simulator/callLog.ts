import { createHash, randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Action, Family } from '../../domain/models.ts'

export type LoggedImage = {
  readonly mimeType: string
  readonly sha256: string
  readonly bytes: number
}

/** One call as the vendor saw it. Fields are null until known, and when they do not apply. */
export type SimulatorCall = {
  /** Also the answer's `x-request-id`. */
  readonly id: string
  readonly family: Family
  /** Unix time in ms: headers received, and answer sent (or connection lost). */
  readonly at: number
  finishedAt: number | null
  action: Action | null
  model: string | null
  prompt: string | null
  promptSha256: string | null
  readonly apiKeyPresent: boolean
  /** First 8 hexadecimal digits of the key's SHA-256: tells channels apart. */
  readonly apiKeyDigest: string | null
  readonly idempotencyKey: string | null
  readonly headers: Readonly<Record<string, string>>
  /** The JSON body, or the form's fields; long texts (images too) replaced by their length. */
  body: unknown
  bodyBytes: number
  bodySha256: string | null
  images: readonly LoggedImage[]
  /** The fault served, as its kind; `limit` for the rate limiter, `invalid` for a refused request. */
  fault: string | null
  status: number | null
  /** An image was made for this call, which a real vendor would have charged, delivered or not. */
  billed: boolean
  clientAborted: boolean
}

export type CallMatcher = {
  readonly family?: Family | undefined
  readonly model?: string | undefined
  readonly action?: Action | undefined
  /** A text matches prompts which contain it. */
  readonly prompt?: string | RegExp | undefined
}

export function matches(
  matcher: CallMatcher,
  call: Pick<SimulatorCall, 'family' | 'model' | 'action' | 'prompt'>,
): boolean {
  const { family, model, action, prompt } = matcher
  if (family !== undefined && family !== call.family) return false
  if (model !== undefined && model !== call.model) return false
  if (action !== undefined && action !== call.action) return false
  if (prompt === undefined) return true
  if (typeof prompt === 'string') return call.prompt?.includes(prompt) ?? false
  return call.prompt !== null && new RegExp(prompt).test(call.prompt)
}

/** The oldest calls are forgotten beyond this, so that a demo may run for weeks. */
const callsMax = 20_000

export type CallLog = {
  open: (request: IncomingMessage, family: Family, key: string | null) => SimulatorCall
  /** Copies, oldest first. */
  list: (matcher?: CallMatcher) => SimulatorCall[]
  clear: () => void
}

export function createCallLog(): CallLog {
  let calls: SimulatorCall[] = []
  return {
    open(request, family, key) {
      const call = newCall(request, family, key)
      calls.push(call)
      if (calls.length > callsMax) calls = calls.slice(-callsMax / 2)
      return call
    },
    list: (matcher = {}) =>
      calls.filter((call) => matches(matcher, call)).map((call) => ({ ...call })),
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

function newCall(request: IncomingMessage, family: Family, key: string | null): SimulatorCall {
  const text = (name: string): string | null => request.headers[name]?.toString() ?? null
  const headers = loggedHeaders.flatMap((name) => {
    const value = text(name)
    return value === null ? [] : [[name, value] as const]
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
    apiKeyPresent: key !== null,
    apiKeyDigest: key === null ? null : digestOf(key).slice(0, 8),
    idempotencyKey: text('idempotency-key'),
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

export function digestOf(value: string | Uint8Array): string {
  return createHash('sha256').update(value).digest('hex')
}
