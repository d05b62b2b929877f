import { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import { errors } from 'undici'
import { AnswerLostError } from './answerBody.ts'
import { defined } from '../domain/defined.ts'
import { createStallTolerantDeadline } from '../domain/stallTolerantDeadline.ts'
import type { Answer } from './exchange.ts'
import { exchange } from './exchange.ts'
import type { RequestBody } from './requestBody.ts'

type SendDeps = {
  readonly dispatcher: Dispatcher
  /** Returns milliseconds of a clock that never goes back. */
  readonly monotonicMs: () => number
}

export type SendRequest = {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: RequestBody
  /**
   * Limit for the time from the call of `send` to the last byte of the answer. Includes the wait for a connection.
   * May be fractional.
   */
  readonly timeoutMs: number
}

/**
 * What happened to a request. `latencyMs` counts from the first byte of the request to the end of the call.
 */
export type SendResult<Value> =
  /** The upstream received nothing, or too little to act on. */
  | { readonly kind: 'not_sent'; readonly reason: 'not_sent' | 'inputs_unreadable' }
  /** No whole answer arrived, but the upstream may have acted on the request. */
  | {
      readonly kind: 'lost'
      readonly reason: LostReason
      readonly latencyMs: number
      /** Present when the headers of the answer arrived. */
      readonly answer?: Answer
    }
  | {
      readonly kind: 'answered'
      /** What `read` returned. */
      readonly value: Value
      readonly latencyMs: number
      readonly answer: Answer
    }

type LostReason = 'timeout' | 'connection_lost' | 'answer_too_large'

/**
 * Sends one POST. Never repeats it and never follows a redirect. The result says whether the upstream can
 * have acted on the request. It cannot have acted in two cases, both `not_sent`:
 * - Nothing was written to a connection: the upstream refused the connection, its name was not found, TLS
 *   failed, or the time was over before a connection was ready.
 * - We could not read our own body to its end (`inputs_unreadable`). The upstream did not get the announced
 *   length, and no upstream acts on a part of a request.
 *
 * `read` must finish within the same deadline. It may throw `AnswerLostError`. Every other error of `read` is
 * thrown to the caller.
 */
export async function send<Value>(
  deps: SendDeps,
  request: SendRequest,
  read: (answer: Answer) => Promise<Value>,
): Promise<SendResult<Value>> {
  const deadline = startCallDeadline(request.timeoutMs, deps.monotonicMs)
  const body = watchBody(request.body.open(), deps.monotonicMs)
  const elapsedMs = (): number => deps.monotonicMs() - (body.startedAtMs() ?? deps.monotonicMs())
  let answer: Answer | undefined
  try {
    const options = dispatchOptions(request, body)
    const arriving = await exchange(deps.dispatcher, options, deadline.signal, elapsedMs)
    answer = arriving
    const value = await read(arriving).finally(() => arriving.body.destroy())
    return { kind: 'answered', value, answer, latencyMs: Math.round(elapsedMs()) }
  } catch (error) {
    if (answer !== undefined && !(error instanceof AnswerLostError)) throw error
    if (answer === undefined) {
      if (body.failed()) return { kind: 'not_sent', reason: 'inputs_unreadable' }
      if (body.startedAtMs() === undefined) return { kind: 'not_sent', reason: 'not_sent' }
    }
    const reason = deadline.signal.aborted ? 'timeout' : lostReason(error)
    return { kind: 'lost', reason, latencyMs: Math.round(elapsedMs()), ...defined({ answer }) }
  } finally {
    deadline.clear()
    body.stream.destroy()
  }
}

function dispatchOptions(request: SendRequest, body: WatchedBody): Dispatcher.DispatchOptions {
  const { origin, pathname, search } = new URL(request.url)
  // In undici, 0 means no timeout at all, and a negative number is an error.
  const timeoutMs = Math.max(1, request.timeoutMs)
  return {
    origin,
    path: pathname + search,
    method: 'POST',
    headers: {
      ...request.headers,
      'content-type': request.body.contentType,
      'content-length': String(request.body.bytes),
      'accept-encoding': 'identity',
    },
    body: body.stream,
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
  }
}

function lostReason(error: unknown): LostReason {
  if (error instanceof AnswerLostError && error.tooLarge) return 'answer_too_large'
  const cause = error instanceof AnswerLostError ? error.cause : error
  const timedOut =
    cause instanceof errors.HeadersTimeoutError || cause instanceof errors.BodyTimeoutError
  return timedOut ? 'timeout' : 'connection_lost'
}

type CallDeadline = {
  readonly signal: AbortSignal
  /** Stops the timer. Call this when the call has ended. */
  readonly clear: () => void
}

/**
 * Extra time for a call after our own process stood still (stopped by a signal, a suspended machine). Long
 * enough to read an answer that arrived meanwhile, and far shorter than the silence after which a worker
 * counts as lost.
 */
const afterStallMs = 1_500

/** Limit for all extra time of one call. Far shorter than the lease of the call. */
const extensionsMsMax = 3_000

/**
 * Starts a deadline that aborts after `timeoutMs`. The clock also counts time in which the process is
 * stopped. We pay for an answer that arrives during such a stop. So, after a stop, the call gets some extra
 * time to read the answer.
 */
export function startCallDeadline(timeoutMs: number, monotonicMs: () => number): CallDeadline {
  const passed = new AbortController()
  const bounds = { limitMs: timeoutMs, afterStallMs, extensionsMsMax }
  const deadline = createStallTolerantDeadline(bounds)
  let timer: NodeJS.Timeout | undefined
  const tick = () => {
    const delayMs = deadline.nextDelayMs(monotonicMs())
    if (delayMs === undefined) passed.abort(new Error(`no whole answer in ${timeoutMs} ms`))
    else timer = setTimeout(tick, delayMs)
  }
  tick()
  return { signal: passed.signal, clear: () => clearTimeout(timer) }
}

type WatchedBody = {
  readonly stream: Readable
  /** When the first chunk of the body was read. Undici reads a body only when its connection is ready. */
  readonly startedAtMs: () => number | undefined
  /** Returns whether reading `content` failed. If so, the upstream never got a complete body. */
  readonly failed: () => boolean
}

/**
 * Turns a request body into a stream, and records when the sending began and whether reading the body failed.
 */
export function watchBody(
  content: AsyncIterable<Uint8Array>,
  monotonicMs: () => number,
): WatchedBody {
  let startedAtMs: number | undefined
  let failed = false
  // Not a `for await` loop. When the connection fails, the stream throws that error into this generator at
  // the `yield`. A `catch` around a loop could not tell that error from an error of `content`.
  const watched = async function* (): AsyncGenerator<Uint8Array> {
    startedAtMs = monotonicMs()
    const source = content[Symbol.asyncIterator]()
    const next = async () => {
      try {
        return await source.next()
      } catch (error) {
        failed = true
        throw error
      }
    }
    try {
      for (let step = await next(); step.done !== true; step = await next()) yield step.value
    } finally {
      await source.return?.()
    }
  }
  const stream = Readable.from(watched(), { highWaterMark: 2 })
  // Undici listens for errors only while it sends. An error after that must not become an uncaught exception.
  stream.on('error', () => {})
  return { stream, startedAtMs: () => startedAtMs, failed: () => failed }
}
