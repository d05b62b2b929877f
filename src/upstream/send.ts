import { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import type { AnswerBody } from './answerBody.ts'
import type { Answer } from './exchange.ts'
import { exchange, GivenUpError } from './exchange.ts'
import type { FailedOutcome } from './modelAnswer.ts'
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
  const { body, mayBegin = () => true } = request
  let isUnreadable = false
  async function* content(): AsyncGenerator<Uint8Array> {
    try {
      yield* body.open()
    } catch (error) {
      // When the connection fails, the stream is destroyed, and then throws that error into this generator.
      isUnreadable = !stream.destroyed
      throw error
    }
  }
  const stream = Readable.from(content(), { highWaterMark: 2 })
  // Undici listens for errors only while it sends. An error after that must not become an uncaught exception.
  stream.on('error', () => {})
  let startedAtMs: number | undefined
  const latencyMs = (): number => Math.round(performance.now() - (startedAtMs ?? 0))
  const begin = (): boolean => {
    if (!mayBegin()) return false
    startedAtMs = performance.now()
    return true
  }
  try {
    const options = dispatchOptions(request, stream)
    const answer = await exchange(dispatcher, options, { signal, begin, body: answerBody })
    return { answer, latencyMs: latencyMs() }
  } catch (error) {
    if (isUnreadable) return { class: 'refused', evidence: { reason: 'inputs_unreadable' } }
    if (startedAtMs === undefined) {
      const isNotCalled = error instanceof GivenUpError && error.reason === 'not_called'
      const reason = isNotCalled ? 'not_called' : 'not_sent'
      return { class: 'refused', evidence: { reason } }
    }
    const reason = signal.aborted ? 'timeout' : 'connection_lost'
    return { class: 'unknown', evidence: { reason, latencyMs: latencyMs() } }
  } finally {
    stream.destroy()
  }
}

function dispatchOptions(request: SendRequest, body: Readable): Dispatcher.DispatchOptions {
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
    body,
    // No timeouts of undici: the signal is the only limit.
    headersTimeout: 0,
    bodyTimeout: 0,
  }
}
