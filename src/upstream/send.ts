import { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import type { AnswerBody } from './answerBody.ts'
import type { Answer } from './exchange.ts'
import { exchange } from './exchange.ts'
import type { FailedOutcome } from './familyCall.ts'
import type { RequestBody } from './requestBody.ts'

export type SendRequest = {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: RequestBody
  /**
   * Limit for the time from the call of `send` to the last byte of the answer. Includes the wait for a connection.
   */
  readonly timeoutMs: number
  /** Asked right before the first byte. When it returns false, nothing is sent. */
  readonly mayBegin?: (() => boolean) | undefined
}

/** An answer, whose body may be incomplete (`cutBy`), or the outcome of a call without one. */
export type Sent =
  /** `latencyMs` counts from the first byte of the request to the end of the call. */
  { readonly answer: Answer; readonly latencyMs: number } | FailedOutcome

/**
 * Sends one POST. Never repeats it and never follows a redirect. Without an answer the outcome says whether the upstream
 * can have acted on the request. It cannot have acted in three cases, all `refused`:
 * - Nothing was written to a connection: the upstream refused the connection, its name was not found, TLS
 *   failed, or the time was over before a connection was ready.
 * - The connection was ready too late to begin (`not_called`).
 * - We could not read our own body to its end (`inputs_unreadable`). The upstream did not get the announced
 *   length, and no upstream acts on a part of a request.
 *
 * `answerBody` gets the bytes of the answer. Never throws.
 */
export async function send(
  dispatcher: Dispatcher,
  request: SendRequest,
  answerBody: AnswerBody,
): Promise<Sent> {
  // A timer has whole milliseconds, at least one.
  const signal = AbortSignal.timeout(Math.max(1, Math.ceil(request.timeoutMs)))
  const body = watchBody(request.body.open(), request.mayBegin)
  const elapsedMs = (): number => performance.now() - (body.startedAtMs() ?? performance.now())
  try {
    const options = dispatchOptions(request, body)
    const answer = await exchange(dispatcher, options, { signal, elapsedMs, body: answerBody })
    return { answer, latencyMs: Math.round(elapsedMs()) }
  } catch {
    if (body.failed()) return { class: 'refused', evidence: { reason: 'inputs_unreadable' } }
    if (body.startedAtMs() === undefined) {
      const reason = body.tooLate() ? 'not_called' : 'not_sent'
      return { class: 'refused', evidence: { reason } }
    }
    const reason = signal.aborted ? 'timeout' : 'connection_lost'
    return { class: 'unknown', evidence: { reason, latencyMs: Math.round(elapsedMs()) } }
  } finally {
    body.stream.destroy()
  }
}

function dispatchOptions(request: SendRequest, body: WatchedBody): Dispatcher.DispatchOptions {
  const { origin, pathname, search } = new URL(request.url)
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
    // No timeouts of undici: the signal is the only limit.
    headersTimeout: 0,
    bodyTimeout: 0,
  }
}

type WatchedBody = ReturnType<typeof watchBody>

/**
 * Turns a request body into a stream, and records when the sending began and whether reading the body failed.
 */
function watchBody(content: AsyncIterable<Uint8Array>, mayBegin = () => true) {
  let startedAtMs: number | undefined
  let tooLate = false
  let failed = false
  // Not a `for await` loop. When the connection fails, the stream throws that error into this generator at
  // the `yield`. A `catch` around a loop could not tell that error from an error of `content`.
  const watched = async function* (): AsyncGenerator<Uint8Array> {
    tooLate = !mayBegin()
    if (tooLate) throw new Error('it is too late to begin')
    startedAtMs = performance.now()
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
  return {
    stream,
    /** When the first chunk of the body was read. Undici reads a body only when its connection is ready. */
    startedAtMs: () => startedAtMs,
    /** Returns whether nothing was sent because it was too late to begin. */
    tooLate: () => tooLate,
    /** Returns whether reading `content` failed. If so, the upstream never got a complete body. */
    failed: () => failed,
  }
}
