import { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'

export type Exchange = {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** Every byte of the answer's body that arrived. Destroying it ends the call. */
  readonly body: Readable
  /** Asked at the end of `body`: why that is not the end of the answer. */
  readonly failure: () => Error | undefined
}

/**
 * One request, up to the headers of its answer. The client library's own body stream drops what it holds
 * when the connection fails, and takes a whole answer for a broken one when the upstream closes while
 * the reader is behind: so the bytes come here first, and a failure after them. Rejects when there is no
 * answer, and when `signal` aborts beforehand: the library looks at a signal only once a connection is
 * free, and drops the request unsent when its turn comes.
 */
export function exchange(
  dispatcher: Dispatcher,
  options: Dispatcher.DispatchOptions,
  signal: AbortSignal,
): Promise<Exchange> {
  return new Promise((resolve, reject) => {
    let controller: Dispatcher.DispatchController | undefined
    let arriving: Arriving | undefined
    const abort = (): void => {
      const reason = new Error('The call was given up', { cause: signal.reason })
      if (controller === undefined) reject(reason)
      else controller.abort(reason)
    }
    if (signal.aborted) return abort()
    signal.addEventListener('abort', abort, { once: true })
    // A signal may outlive the call, and all that hangs on it with it.
    const letGo = (): void => signal.removeEventListener('abort', abort)
    dispatcher.dispatch(options, {
      onRequestStart: (started) => {
        controller = started
        if (signal.aborted) abort()
      },
      onResponseStart: (answering, status, headers) => {
        if (status < 200) return
        arriving = arrive(answering, Number(headers['content-length']))
        resolve({ status, headers, body: arriving.body, failure: arriving.failure })
      },
      onResponseData: (_answering, chunk) => arriving?.push(chunk),
      onResponseEnd: () => {
        letGo()
        arriving?.end()
      },
      onResponseError: (_answering, error) => {
        letGo()
        if (arriving === undefined) reject(error)
        else arriving.end(error)
      },
    })
  })
}

type Arriving = Pick<Exchange, 'body' | 'failure'> & {
  readonly push: (chunk: Uint8Array) => void
  readonly end: (failure?: Error) => void
}

function arrive(answering: Dispatcher.DispatchController, length: number): Arriving {
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
  // Whoever reads hears of it; with nobody reading it must not become an uncaught error.
  body.on('error', () => {})
  return {
    body,
    failure: () => failure,
    push: (chunk) => {
      bytes += chunk.byteLength
      if (!body.push(chunk)) answering.pause()
    },
    end: (error) => {
      // What ends after the last byte that was announced, ends whole.
      if (bytes !== length) failure = error
      body.push(null)
    },
  }
}
