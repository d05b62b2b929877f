import { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import { errors } from 'undici'
import { defined } from '../domain/defined.ts'
import { AnswerLostError, readAnswer } from './answerBody.ts'
import { startCallDeadline } from './callDeadline.ts'
import { exchange } from './exchange.ts'
import type { RequestBody } from './requestBody.ts'

type SendRequest = {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: RequestBody
  /** From now, waiting for a connection included, to the last byte of the answer; may be fractional. */
  readonly timeoutMs: number
  readonly signal?: AbortSignal
}

export type Answer = {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** From the first byte sent to the headers received. */
  readonly elapsedMs: number
  /** At most so many bytes; throws `AnswerLostError` when it ends otherwise than whole. */
  readonly body: (bytesMax: number) => AsyncIterable<Uint8Array>
}

type LostReason = 'timeout' | 'connection_lost' | 'answer_too_large'

export type SendResult<Value> =
  /** Nothing reached the upstream that it could act on. */
  | { readonly kind: 'not_sent'; readonly why: 'no_connection' | 'own_body' }
  | {
      readonly kind: 'lost'
      readonly reason: LostReason
      readonly latencyMs: number
      /** Present when the headers had arrived before it broke off. */
      readonly answer?: Answer
    }
  | {
      readonly kind: 'answered'
      readonly value: Value
      readonly latencyMs: number
      readonly answer: Answer
    }

type SendDeps = {
  readonly dispatcher: Dispatcher
  /** A clock that only goes forward, in milliseconds. */
  readonly monotonicMs: () => number
}

/**
 * One POST, never repeated and never redirected (design 1.7). Tells what may have been worked on from
 * what cannot have been: `not_sent` covers a failure before the first byte was handed to a connection
 * (refused, name not found, TLS, connect timeout, deadline in the queue), and a body that we ourselves
 * could not finish, which no upstream acts on since its announced length never arrived. `read` runs
 * inside the deadline; an error of its own is thrown on.
 */
export async function send<Value>(
  deps: SendDeps,
  request: SendRequest,
  read: (answer: Answer) => Promise<Value>,
): Promise<SendResult<Value>> {
  const deadline = startCallDeadline(request.timeoutMs, deps.monotonicMs)
  const signal =
    request.signal === undefined
      ? deadline.signal
      : AbortSignal.any([deadline.signal, request.signal])
  const body = watchBody(request.body.open(), deps.monotonicMs)
  const sinceStart = (): number => deps.monotonicMs() - (body.startedAtMs() ?? deps.monotonicMs())
  let answer: Answer | undefined
  try {
    const response = await exchange(deps.dispatcher, dispatchOptions(request, body), signal)
    const { status, headers } = response
    const coding = joinedHeader(headers['content-encoding'])
    const readBody = (bytesMax: number) => readAnswer(response, coding, bytesMax)
    answer = { status, headers, elapsedMs: sinceStart(), body: readBody }
    const value = await read(answer).finally(() => response.body.destroy())
    return { kind: 'answered', value, answer, latencyMs: Math.round(sinceStart()) }
  } catch (error) {
    if (answer !== undefined && !(error instanceof AnswerLostError)) throw error
    if (answer === undefined && body.failed()) return { kind: 'not_sent', why: 'own_body' }
    if (answer === undefined && body.startedAtMs() === undefined) {
      return { kind: 'not_sent', why: 'no_connection' }
    }
    const reason = deadline.signal.aborted ? 'timeout' : lostReason(error)
    const latencyMs = Math.round(sinceStart())
    return { kind: 'lost', reason, latencyMs, ...defined({ answer }) }
  } finally {
    deadline.clear()
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
    headersTimeout: wholeMs(request.timeoutMs),
    bodyTimeout: wholeMs(request.timeoutMs),
  }
}

/** Node's timers throw at fractions, and 0 turns the client library's own off. */
function wholeMs(ms: number): number {
  return Math.max(1, Math.floor(ms))
}

/** A header sent twice says what its values say one after the other (RFC 9110 section 5.3). */
function joinedHeader(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(', ') : value
}

function lostReason(error: unknown): LostReason {
  const cause = error instanceof AnswerLostError ? error.cause : error
  if (error instanceof AnswerLostError && error.tooLarge) return 'answer_too_large'
  const timedOut =
    cause instanceof errors.HeadersTimeoutError || cause instanceof errors.BodyTimeoutError
  return timedOut ? 'timeout' : 'connection_lost'
}

type WatchedBody = {
  readonly stream: Readable
  /** When the first piece was asked for: only a connected socket asks. */
  readonly startedAtMs: () => number | undefined
  /** Our own source failed, so the body was never complete. */
  readonly failed: () => boolean
}

/** Watches how far the sending of a request body got. */
export function watchBody(
  content: AsyncIterable<Uint8Array>,
  monotonicMs: () => number,
): WatchedBody {
  let startedAtMs: number | undefined
  let failed = false
  // Step by step: a connection that fails throws its error into the generator where it yields.
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
  // The sender listens only while it sends; a late error must not become an uncaught one.
  stream.on('error', () => {})
  return { stream, startedAtMs: () => startedAtMs, failed: () => failed }
}
