import { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'

/** The answer to one request. The headers have arrived, and the body is still arriving. */
export type Answer = {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** The time from the first byte of the request to the headers of the answer. */
  readonly elapsedMs: number
  /**
   * Yields every byte of the body that arrives. Ends normally even when the connection breaks: see `failure`.
   */
  readonly body: Readable
  /**
   * Call this after `body` has ended. Returns the error if the body is incomplete, and `undefined` if it is
   * complete.
   */
  readonly failure: () => Error | undefined
}

/**
 * Sends one request and resolves with the headers of its answer. To end the exchange early, destroy the body
 * of the answer. Rejects when no answer arrives, or when `signal` aborts before the headers arrive.
 * `elapsedMs` returns the time since the request began. Its value when the headers arrive becomes the
 * answer's `elapsedMs`, which helps to classify an error answer.
 *
 * This function does not use undici's response stream, for two reasons. When the connection fails, that
 * stream drops the bytes that it has not delivered yet. And when the upstream closes the connection while the
 * reader is slow, that stream reports a complete answer as broken. Here the reader first gets all bytes, and
 * then learns of a failure.
 */
export function exchange(
  dispatcher: Dispatcher,
  options: Dispatcher.DispatchOptions,
  signal: AbortSignal,
  elapsedMs: () => number,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    let controller: Dispatcher.DispatchController | undefined
    let arriving: ArrivingBody | undefined
    const abort = (): void => {
      const reason = new Error('The call was given up', { cause: signal.reason })
      // No controller yet means that the request is still waiting for a connection. Reject now;
      // `onRequestStart` will drop the request before it is sent.
      if (controller === undefined) reject(reason)
      else controller.abort(reason)
    }
    if (signal.aborted) return abort()
    signal.addEventListener('abort', abort, { once: true })
    // The signal may live longer than the call. With the listener, it would keep everything here in memory.
    const removeListener = (): void => signal.removeEventListener('abort', abort)
    dispatcher.dispatch(options, {
      onRequestStart: (started) => {
        controller = started
        if (signal.aborted) abort()
      },
      onResponseStart: (answering, status, headers) => {
        if (status < 200) return
        arriving = createArrivingBody(answering, Number(headers['content-length']))
        const { body, failure } = arriving
        resolve({ status, headers, elapsedMs: elapsedMs(), body, failure })
      },
      onResponseData: (_answering, chunk) => arriving?.push(chunk),
      onResponseEnd: () => {
        removeListener()
        arriving?.end()
      },
      onResponseError: (_answering, error) => {
        removeListener()
        if (arriving === undefined) reject(error)
        else arriving.end(error)
      },
    })
  })
}

type ArrivingBody = Pick<Answer, 'body' | 'failure'> & {
  readonly push: (chunk: Uint8Array) => void
  readonly end: (failure?: Error) => void
}

/** Creates the body of an answer. `contentLength` is NaN when the answer does not declare a length. */
function createArrivingBody(
  answering: Dispatcher.DispatchController,
  contentLength: number,
): ArrivingBody {
  let bytes = 0
  let failure: Error | undefined
  const body = new Readable({
    highWaterMark: 64 * 1024,
    read: () => answering.resume(),
    destroy: (error, done) => {
      answering.abort(error ?? new Error('The rest of the answer is not read'))
      done(error)
    },
  })
  // A reader of the body gets the error. When nobody reads, the error must not become an uncaught exception.
  body.on('error', () => {})
  return {
    body,
    failure: () => failure,
    push: (chunk) => {
      bytes += chunk.byteLength
      if (!body.push(chunk)) answering.pause()
    },
    end: (error) => {
      // If all declared bytes have arrived, the body is complete, and an error after them does not matter.
      if (bytes !== contentLength) failure = error
      body.push(null)
    },
  }
}
