import { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import { Agent } from 'undici'

/** The answer to one request. Its headers are here, its body is still arriving. */
export type Answer = {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** From the first byte of the request to the headers of the answer. */
  readonly elapsedMs: number
  /** Every byte of the body that arrived. Ends normally even when the connection broke. */
  readonly body: Readable
  /** Called at the end of `body`. Returns why the body is not complete, if it is not. */
  readonly failure: () => Error | undefined
}

/**
 * Sends one request and resolves with the headers of its answer. Destroying the body of the answer ends
 * the exchange. Rejects when no answer arrives or `signal` aborts before the headers. `elapsedMs` is
 * called when the headers arrive.
 *
 * The response stream of undici is not used. It drops what it holds when the connection fails, and it
 * reports a whole answer as broken when the upstream closes while the reader is behind. Here the bytes
 * come first and a failure comes after them.
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
      // Without a controller the request still waits for a connection. The caller waits no longer, and
      // `onRequestStart` drops the request before it is sent.
      if (controller === undefined) reject(reason)
      else controller.abort(reason)
    }
    if (signal.aborted) return abort()
    signal.addEventListener('abort', abort, { once: true })
    // The signal may live longer than the call and would keep everything here in memory.
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

/** `contentLength` is NaN when the answer does not declare one. */
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
  // A reader sees the error. Without a reader it must not become an uncaught exception.
  body.on('error', () => {})
  return {
    body,
    failure: () => failure,
    push: (chunk) => {
      bytes += chunk.byteLength
      if (!body.push(chunk)) answering.pause()
    },
    end: (error) => {
      // An error after the last declared byte does not matter: the body is complete.
      if (bytes !== contentLength) failure = error
      body.push(null)
    },
  }
}

/** Per upstream host. The concurrency limits of channels are lower. A call beyond it waits its turn. */
const connectionsMax = 1024
const connectMsMax = 10_000
/** A connection opened for a call that was given up may serve another call for this long. */
const unusedMsMax = 1_000
const headerBytesMax = 32 * 1024

/**
 * Creates the connections to upstream models. Each call has its own connection. If a connection were used
 * again, bytes that an upstream sends after its answer (garbage, or the answer a second time) would be
 * read as the answer to the next call. HTTP/1.1 only, because there the body of a request is first read
 * when the connection is ready, and `send` relies on that. Timeouts are given with each call.
 */
export function createUpstreamAgent(): Agent {
  return new Agent({
    connections: connectionsMax,
    // Undici then sends `Connection: close`, and closes whatever the upstream answers.
    pipelining: 0,
    allowH2: false,
    connect: { timeout: connectMsMax },
    keepAliveTimeout: unusedMsMax,
    maxHeaderSize: headerBytesMax,
  })
}
