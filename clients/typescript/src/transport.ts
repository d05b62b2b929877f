import type { Deadline } from './deadline.ts'
import { DarkroomError } from './darkroomError.ts'
import { mayAnswerOtherwise, mayHaveArrived, pauseMs, retryAfterMs } from './repeats.ts'
import { userAgent } from './runtime.ts'

/** One request of this client. */
export type Call = {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** A path of the service, or a whole address, to which the key is never sent. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  /** The body as it is sent, the same at every repeat. */
  readonly json?: string
  /** True when a second request would do a second thing: then only a refusal is repeated. */
  readonly once?: boolean
  /** How long the answer may take beyond an ordinary one: it is held back, or large. */
  readonly heldMs?: number
}

/** One try of a call, for logs. It has no key, no body and no query. */
export type Try = {
  readonly method: string
  readonly path: string
  /** Counts from 1. */
  readonly number: number
  readonly durationMs: number
  /** Of the answer. Absent when none came. */
  readonly status?: number
  readonly headers?: Headers
  /** Of the failure. */
  readonly code?: string
}

export type TransportSettings = {
  readonly baseUrl: string
  readonly apiKey: string
  readonly fetch: typeof fetch
}

/** How a call is repeated, and who is told of its tries. */
export type Repeating = {
  readonly deadline: Deadline
  readonly retriesMax: number
  readonly onTry?: ((seen: Try) => void) | undefined
}

export type Failed = {
  readonly ok: false
  readonly error: DarkroomError
  /** Whether the same call may succeed later. */
  readonly mayRepeat: boolean
  /** Whether the service may have done what was asked for, without the answer having arrived. */
  readonly isLost: boolean
  readonly askedMs: number | undefined
}
export type Tried<Value> = { readonly ok: true; readonly value: Value } | Failed

export type Answer<Value> = { readonly body: Value; readonly headers: Headers }

export type Transport = ReturnType<typeof createTransport>

/** How long an answer may take beyond the time that it was asked to be held, and the rate at which bodies go out. */
const answerMsMax = 60_000
const slowestBytesPerMs = 50

/** Sends calls over HTTP, once or repeated. Keeps nothing from one call to the next. */
export function createTransport({ baseUrl, apiKey, fetch }: TransportSettings) {
  const base = baseUrl.replace(/\/+$/, '')
  const agent = userAgent()

  function headersOf({ path, headers, json }: Call): Headers {
    const sent = new Headers(headers)
    if (!path.startsWith('/')) return sent
    if (!/^https?:\/\//.test(base)) throw wrong('baseUrl', 'Give baseUrl, or set DARKROOM_URL.')
    if (!/^[!-~]+$/.test(apiKey)) throw wrong('apiKey', 'Give apiKey, or set DARKROOM_API_KEY.')
    sent.set('authorization', `Bearer ${apiKey}`)
    if (json !== undefined) sent.set('content-type', 'application/json')
    if (agent !== undefined) sent.set('user-agent', agent)
    return sent
  }

  /** Sends a call once, and reads its answer with `read`. */
  async function attempt<Value>(
    call: Call,
    { deadline, onTry }: Omit<Repeating, 'retriesMax'>,
    read: (response: Response) => Promise<Value>,
    number = 1,
  ): Promise<Tried<Value>> {
    const headers = headersOf(call)
    const startedAt = performance.now()
    const tell = (more: Pick<Try, 'status' | 'headers' | 'code'>) =>
      onTry?.({
        method: call.method,
        path: call.path.replace(/[?#].*/, ''),
        number,
        durationMs: performance.now() - startedAt,
        ...more,
      })
    const late = new AbortController()
    const { json = '', heldMs = 0 } = call
    const timeoutMs = answerMsMax + heldMs + json.length / slowestBytesPerMs
    const timer = setTimeout(() => late.abort(), timeoutMs)
    try {
      const isOurs = call.path.startsWith('/')
      const response = await fetch(isOurs ? base + call.path : call.path, {
        method: call.method,
        headers,
        signal: AbortSignal.any([deadline.signal, late.signal]),
        // A redirect would lose the body of a POST, or take it to a stranger. Images may redirect.
        redirect: isOurs ? 'manual' : 'follow',
        body: call.json ?? null,
      })
      const failed = response.ok ? undefined : await failureOf(response)
      const tried: Tried<Value> = failed ?? { ok: true, value: await read(response) }
      tell({
        status: response.status,
        headers: response.headers,
        ...(failed?.error.code === undefined ? {} : { code: failed.error.code }),
      })
      return tried
    } catch (cause) {
      const failed = deadline.overBecause()
      const code = late.signal.aborted ? 'no_answer' : codeOf(cause)
      tell({ code: failed?.code ?? code })
      return failed === undefined
        ? lost(code, cause)
        : { ...lost(code, cause), error: failed, mayRepeat: false }
    } finally {
      clearTimeout(timer)
    }
  }

  return {
    attempt,
    /**
     * Sends a call until it is answered, and returns what `read` makes of the answer. Throws what cannot be repeated;
     * with the call's idempotency key when it may have been carried out.
     */
    async send<Value>(
      call: Call,
      repeating: Repeating,
      read: (response: Response) => Promise<Value>,
    ): Promise<Value> {
      let isLost = false
      for (let number = 1; ; number += 1) {
        const tried = await attempt(call, repeating, read, number)
        if (tried.ok) return tried.value
        isLost ||= tried.isLost
        const error = isLost
          ? tried.error.with({ idempotencyKey: call.headers?.['idempotency-key'] })
          : tried.error
        const mayRepeat = tried.mayRepeat && !(call.once === true && tried.isLost)
        const waitMs = pauseMs(number, tried.askedMs)
        const { deadline, retriesMax } = repeating
        if (!mayRepeat || number > retriesMax || waitMs > deadline.leftMs()) throw error
        await deadline.sleep(waitMs).catch((over: unknown) => {
          throw over instanceof DarkroomError
            ? over.with({ idempotencyKey: error.idempotencyKey })
            : over
        })
      }
    },
  }
}

/** Reads the body of an answer as JSON. */
export async function readJson<Body>(response: Response): Promise<Answer<Body>> {
  const text = await response.text()
  try {
    const body: Body = JSON.parse(text)
    return { body, headers: response.headers }
  } catch (cause) {
    const message = 'The answer is not JSON. Does the address lead to the service?'
    throw new DarkroomError(message, { code: 'answer_not_read', status: response.status, cause })
  }
}

/** Returns the number in a header of an answer. */
export function numberIn(headers: Headers, name: string): number | undefined {
  const text = headers.get(name)
  return text === null ? undefined : Number(text)
}

function wrong(param: string, message: string): DarkroomError {
  return new DarkroomError(message, { code: 'invalid_value', param })
}

function lost(code: string, cause: unknown): Failed {
  const isLost = mayHaveArrived(code)
  const error =
    cause instanceof DarkroomError
      ? cause
      : new DarkroomError(`No answer arrived: ${code}.`, { code, cause })
  return { ok: false, error, mayRepeat: isLost, isLost, askedMs: undefined }
}

/** The code of a rejection by `fetch`: Node has one in `cause`, browsers have none. */
function codeOf(thrown: unknown): string {
  const { code, cause }: { code?: unknown; cause?: unknown } = Object(thrown)
  const { code: causeCode }: { code?: unknown } = Object(cause)
  const found = [code, causeCode].find((each) => typeof each === 'string')
  return found ?? 'connection_failed'
}

async function failureOf(response: Response): Promise<Failed> {
  const { status, headers, type } = response
  const text = await response.text()
  const said = errorIn(text)
  const isRedirect = type === 'opaqueredirect' || (status >= 300 && status < 400)
  const error = new DarkroomError(
    isRedirect
      ? 'The service redirects elsewhere. Give the address that it redirects to as baseUrl.'
      : (said.message ?? `The answer was HTTP ${status}.`),
    {
      status,
      code: isRedirect ? 'redirected' : said.code,
      param: said.param,
      requestId: headers.get('x-request-id') ?? undefined,
      taskId: headers.get('x-task-id') ?? undefined,
    },
  )
  return {
    ok: false,
    error,
    mayRepeat: mayAnswerOtherwise(status, headers),
    isLost: status >= 500,
    askedMs: retryAfterMs(headers),
  }
}

type SaidError = { readonly message?: string; readonly code?: string; readonly param?: string }

/** Reads an error envelope. A proxy on the way may have answered anything. */
function errorIn(text: string): SaidError {
  try {
    const { error }: { error?: unknown } = Object(JSON.parse(text))
    const { message, code, param }: Record<string, unknown> = Object(error)
    return Object.fromEntries(
      Object.entries({ message, code, param }).filter(([, value]) => typeof value === 'string'),
    )
  } catch {
    return {}
  }
}
