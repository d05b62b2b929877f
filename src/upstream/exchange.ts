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

/** Why a request was given up here. `not_called`: `begin` returned false, so nothing of it was written. */
export class GivenUpError extends Error {
  readonly reason: 'timeout' | 'answer_too_large' | 'not_called'
  constructor(reason: GivenUpError['reason']) {
    super(`The call was given up: ${reason}`)
    this.reason = reason
  }
}

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
 * reached, or `signal` aborted. Rejects when no headers of an answer arrived before that, with a `GivenUpError` when it was
 * given up here. `begin` is called right before the first byte is written, when the connection is ready. When it returns
 * false, nothing is written. `body` gets the bytes of the answer.
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
    let stage: Stage = { name: 'waiting' }
    const give = (reason: GivenUpError['reason']): void => {
      const error = new GivenUpError(reason)
      // `onRequestStart` drops the request when its connection is ready.
      if (stage.name === 'waiting') reject(error)
      else stage.controller.abort(error)
    }
    const timeOut = (): void => give('timeout')
    const end = (): void => {
      // The signal may live longer than the call. With the listener, it would keep everything here in memory.
      signal.removeEventListener('abort', timeOut)
      if (stage.name === 'answered') clearTimeout(stage.timer)
    }
    if (signal.aborted) return timeOut()
    signal.addEventListener('abort', timeOut, { once: true })
    dispatcher.dispatch(options, {
      onRequestStart: (controller) => {
        stage = { name: 'sending', controller, startedAtMs: performance.now() }
        if (signal.aborted) give('timeout')
        else if (!begin()) give('not_called')
      },
      onResponseStart: (controller, status, headers) => {
        if (status < 200 || stage.name !== 'sending') return
        const elapsedMs = performance.now() - stage.startedAtMs
        const head = { status, headers, elapsedMs }
        stage = isSuccess(status)
          ? { name: 'answered', controller, head, bytesLeft: upstreamAnswerBytesMax }
          : {
              name: 'answered',
              controller,
              head,
              bytesLeft: errorBytesMax,
              timer: setTimeout(timeOut, errorBodyMsMax),
            }
      },
      onResponseData: (controller, chunk) => {
        if (stage.name !== 'answered') return
        stage.bytesLeft -= chunk.byteLength
        if (stage.bytesLeft < 0) return give('answer_too_large')
        const added = body.add(chunk)
        if (added === undefined) return
        controller.pause()
        void added.then(() => controller.resume())
      },
      onResponseEnd: () => {
        end()
        if (stage.name === 'answered') resolve({ ...stage.head, body })
      },
      onResponseError: (_controller, error) => {
        end()
        if (stage.name === 'answered') resolve({ ...stage.head, body, cutBy: cutReason(error) })
        else reject(error)
      },
    })
  })
}

/** How far a request is: it waits for a connection, is sent, or has the head of its answer. */
type Stage =
  | { readonly name: 'waiting' }
  | {
      readonly name: 'sending'
      readonly controller: Dispatcher.DispatchController
      readonly startedAtMs: number
    }
  | {
      readonly name: 'answered'
      readonly controller: Dispatcher.DispatchController
      readonly head: Pick<Answer, 'status' | 'headers' | 'elapsedMs'>
      bytesLeft: number
      readonly timer?: NodeJS.Timeout
    }

function cutReason(error: Error): CutReason {
  return error instanceof GivenUpError && error.reason !== 'not_called'
    ? error.reason
    : 'connection_lost'
}
