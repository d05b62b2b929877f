import type { Dispatcher } from 'undici'
import type { AnswerBody } from './answerBody.ts'
import { upstreamAnswerBytesMax } from '../domain/limits.ts'

/** The answer to one request, after the exchange has ended in whatever way. */
export type Answer = {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** The time from the first byte of the request to the headers of the answer. */
  readonly elapsedMs: number
  /** What arrived of the body. */
  readonly body: AnswerBody
  /** Why not all of the body arrived. Absent when it is complete. */
  readonly cutBy?: CutReason
}

export type CutReason = 'timeout' | 'connection_lost' | 'answer_too_large'

/** Limit for the body of an answer other than 2xx. The bodies of vendors have less than a tenth of it. */
export const errorBytesMax = 64 * 1024
/**
 * Limit for the time in which such a body arrives. Short, because the status alone says enough: if the body arrives
 * slowly, the verdict is made from what there is.
 */
const errorBodyMsMax = 2_000

/** Whether an answer may contain an image. All of 2xx, because a proxy may answer 201 where the vendor answers 200. */
export function isSuccess(status: number): boolean {
  return status >= 200 && status <= 299
}

/**
 * Sends one request, and resolves when its answer is over: the body is complete, the connection broke, a limit was
 * reached, or `signal` aborted. Rejects when no headers of an answer arrived before that. `begin` is called right before
 * the first byte is written, when the connection is ready. When it returns false, nothing is written. `body` gets the
 * bytes of the answer.
 *
 * This function does not use undici's response stream. When the connection fails, that stream drops the bytes that it
 * has not delivered yet, and we pay for them. It does not let undici decompress either: that loses an answer whose
 * header says gzip and whose body is plain.
 */
export function exchange(
  dispatcher: Dispatcher,
  options: Dispatcher.DispatchOptions,
  given: {
    readonly signal: AbortSignal
    readonly body: AnswerBody
    readonly begin?: () => boolean
  },
): Promise<Answer> {
  const { signal, body, begin = () => true } = given
  return new Promise((resolve, reject) => {
    let controller: Dispatcher.DispatchController | undefined
    let head: Pick<Answer, 'status' | 'headers' | 'elapsedMs'> | undefined
    let startedAtMs = 0
    let bytesLeft = 0
    let cutBy: CutReason | undefined
    let timer: NodeJS.Timeout | undefined
    const cut = (reason: CutReason): void => {
      cutBy ??= reason
      const error = new Error(`The call was given up: ${reason}`)
      // No controller yet means that the request is still waiting for a connection. Reject now;
      // `onRequestStart` will drop the request before it is sent.
      if (controller === undefined) reject(error)
      else controller.abort(error)
    }
    const timeOut = (): void => cut('timeout')
    const end = (): void => {
      // The signal may live longer than the call. With the listener, it would keep everything here in memory.
      signal.removeEventListener('abort', timeOut)
      clearTimeout(timer)
    }
    if (signal.aborted) return timeOut()
    signal.addEventListener('abort', timeOut, { once: true })
    dispatcher.dispatch(options, {
      onRequestStart: (started) => {
        controller = started
        // Whatever the reason: `send` knows whether the call began.
        if (signal.aborted || !begin()) timeOut()
        startedAtMs = performance.now()
      },
      onResponseStart: (_answering, status, headers) => {
        if (status < 200) return
        head = { status, headers, elapsedMs: performance.now() - startedAtMs }
        bytesLeft = isSuccess(status) ? upstreamAnswerBytesMax : errorBytesMax
        if (!isSuccess(status)) timer = setTimeout(timeOut, errorBodyMsMax)
      },
      onResponseData: (answering, chunk) => {
        bytesLeft -= chunk.byteLength
        if (bytesLeft < 0) return cut('answer_too_large')
        const added = body.add(chunk)
        if (added === undefined) return
        answering.pause()
        void added.then(() => answering.resume())
      },
      onResponseEnd: () => {
        end()
        if (head !== undefined) resolve({ ...head, body })
      },
      onResponseError: (_answering, error) => {
        end()
        if (head === undefined) reject(error)
        else resolve({ ...head, body, cutBy: cutBy ?? 'connection_lost' })
      },
    })
  })
}
