import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import { httpUrl } from '../../config/environment.ts'
import { listen } from '../../http/server/server.ts'
import { foreignRequest } from '../../http/server/foreignRequest.ts'
import { createBadRelay } from './badRelay.ts'
import { createCallLog } from './calls.ts'
import { controlReply } from './control.ts'
import type { ImageMode } from './drawImage.ts'
import { freeReply, operationOf } from './endpoints.ts'
import type { Latency } from './plan.ts'
import { createPlan } from './plan.ts'
import { deliver, jsonReply } from './reply.ts'
import { serveCall, strayPath } from './serveCall.ts'

export type SimulatorOptions = {
  /** The address. Default: 127.0.0.1. */
  readonly host?: string
  /** The port. 0 lets the system choose a free port. */
  readonly port: number
  /** How long an image takes. Default: 3 to 6 seconds. Errors are answered at once. */
  readonly latency?: Latency
  /** What the simulator sends as an image. Default: `drawn`. */
  readonly image?: ImageMode
}

/** Long enough that a client that asks every two seconds sees the progress rise. */
const defaultLatency: Latency = { minMs: 3000, maxMs: 6000 }

const requestTimeoutMs = 600_000
const timeouts = {
  // Longer than a client pauses between calls, so that no connection closes just when a request is sent over
  // it.
  keepAliveTimeout: 75_000,
  headersTimeout: requestTimeoutMs,
  requestTimeout: requestTimeoutMs,
}

/**
 * Starts an HTTP server that speaks the wire formats of both vendors. README.md in this folder describes it.
 * It answers 403 to a request that a web page of another host sent (`foreignRequest.ts`). Rejects with the
 * system's error when the port is in use.
 */
export async function startSimulator(options: SimulatorOptions) {
  const { host = '127.0.0.1', latency = defaultLatency, image = 'drawn' } = options
  const log = createCallLog()
  const plan = createPlan(latency)
  const nextOfBadRelay = createBadRelay()

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const refusal = foreignRequest(request, { listenHost: host })
    if (refusal !== undefined) {
      return deliver(response, jsonReply(403, { error: { message: refusal } }))
    }
    const { method = '', headers } = request
    const url = urlOf(request)
    if (url.pathname === strayPath) log.open(request, 'A', undefined).model = 'stray'
    const operation = operationOf(method, url)
    if (operation !== undefined) {
      return serveCall(operation, request, response, { log, plan, image, nextOfBadRelay })
    }
    const reply =
      (await controlReply(method, url, { log, plan })) ??
      freeReply(method, url, headers) ??
      jsonReply(404, { error: { message: `Invalid URL (${method} ${url.pathname})` } })
    return deliver(response, reply)
  }

  const server = createServer(timeouts, (request, response) => {
    answer(request, response).catch(() => response.destroy())
  })
  const port = await listen(server, { host, port: options.port })

  /** Closes every connection, also those of running calls. */
  async function close(): Promise<void> {
    const closed = once(server, 'close')
    server.close()
    server.closeAllConnections()
    await closed
  }

  return {
    calls: log.list,
    /** The base URL of family A, such as `http://host:port`. The base URL of family B is `<url>/v1`. */
    url: httpUrl(host, port),
    port,
    close,
  }
}

/** Returns the URL of a request, or the root for a request line without a valid URL, such as `POST //`. */
function urlOf(request: IncomingMessage): URL {
  const base = 'http://simulator'
  return URL.parse(request.url ?? '/', base) ?? new URL(base)
}
