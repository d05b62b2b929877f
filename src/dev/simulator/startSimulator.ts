import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import { httpUrl } from '../../config.ts'
import { listen } from '../../http/connection/createServer.ts'
import { foreignRequest } from '../../http/connection/foreignRequest.ts'
import type { CallLog, SimulatorCall } from './callLog.ts'
import { createCallLog } from './callLog.ts'
import { controlReply } from './control.ts'
import { freeReply, operationOf } from './endpoints.ts'
import type { ImageMode } from './drawImage.ts'
import type { FaultPlan } from './faultPlan.ts'
import { createFaultPlan } from './faultPlan.ts'
import type { CallLatency, Latency } from './latency.ts'
import { createCallLatency, defaultLatency } from './latency.ts'
import type { RateLimiter } from './rateLimiter.ts'
import { createRateLimiter } from './rateLimiter.ts'
import { jsonReply } from './reply.ts'
import type { ServeDependencies } from './serveCall.ts'
import { serveCall, strayPath } from './serveCall.ts'

export type SimulatorOptions = {
  /** The listen address. Default: 127.0.0.1. */
  readonly host?: string
  /** The port. 0 lets the system choose a free port. */
  readonly port: number
  /** How long an image takes. Default: 3 to 6 seconds. Errors are answered at once. */
  readonly latency?: Latency
  /** What the simulator sends as an image. Default: `drawn`. */
  readonly image?: ImageMode
  /**
   * Called with the log entry when a call ends. Do not print the whole entry, because it contains the prompt.
   */
  readonly log?: (call: SimulatorCall) => void
}

export type Simulator = {
  /** The base URL of family A, such as `http://host:port`. The base URL of family B is `<url>/v1`. */
  readonly url: string
  readonly port: number
  /** Returns the matching calls, oldest first. A call is in the log as soon as its headers have arrived. */
  readonly calls: CallLog['list']
  readonly waitForCalls: CallLog['waitForCalls']
  readonly script: FaultPlan['script']
  readonly limit: RateLimiter['limit']
  readonly release: CallLatency['release']
  /**
   * Returns how many requests came for the URLs that the faults `redirect` and `url` send. A correct client
   * follows none of these URLs, so the number stays 0.
   */
  readonly strayRequests: () => number
  /** Removes all calls, scripts, counts of directives, limits and stray requests. */
  readonly reset: () => void
  /** Closes every connection, also those of running calls. */
  readonly close: () => Promise<void>
}

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
 * On a loopback address it answers 403 to a request that a web page of another host sent (`foreignRequest.ts`).
 * Rejects with the system's error when the port is in use.
 */
export async function startSimulator(options: SimulatorOptions): Promise<Simulator> {
  const host = options.host ?? '127.0.0.1'
  const closing = new AbortController()
  const log = createCallLog()
  const plan = createFaultPlan()
  const limiter = createRateLimiter()
  const latency = createCallLatency(options.latency ?? defaultLatency)
  const deps: ServeDependencies = {
    log,
    plan,
    limiter,
    latency,
    image: options.image ?? 'drawn',
    closing: closing.signal,
    ended: options.log ?? (() => undefined),
  }
  let strayRequests = 0
  const simulator = {
    calls: log.list,
    waitForCalls: log.waitForCalls,
    script: plan.script,
    limit: limiter.limit,
    release: latency.release,
    strayRequests: () => strayRequests,
    reset() {
      log.clear()
      plan.clear()
      limiter.clear()
      strayRequests = 0
    },
  }
  const server = createServer(timeouts, (request, response) => {
    const refusal = foreignRequest(request, host)
    if (refusal !== undefined) return refuse(response, refusal)
    const url = urlOf(request)
    if (url.pathname === strayPath) strayRequests += 1
    route(request, response, url, deps, simulator).catch(() => response.destroy())
  })
  const port = await listen(server, { host, port: options.port })
  return {
    ...simulator,
    url: httpUrl(host, port),
    port,
    async close() {
      closing.abort()
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}
/**
 * Returns the URL of a request. Returns the root path for a request line that contains no valid URL, such as
 * `POST //`.
 */
function urlOf(request: IncomingMessage): URL {
  const base = 'http://simulator'
  return URL.parse(request.url ?? '/', base) ?? new URL(base)
}

function refuse(response: ServerResponse, message: string): void {
  const { status, headers, body } = jsonReply(403, { error: { message } })
  response.writeHead(status, headers).end(body)
}

async function route(
  request: IncomingMessage,
  response: ServerResponse,
  url: URL,
  deps: ServeDependencies,
  controlled: Parameters<typeof controlReply>[2],
): Promise<void> {
  const { method = '' } = request
  const operation = operationOf(method, url)
  if (operation !== undefined) return serveCall(operation, request, response, deps)
  const { status, headers, body } =
    (await controlReply(request, url, controlled, deps.log)) ??
    freeReply(request, url) ??
    jsonReply(404, {
      error: { message: `Invalid URL (${method} ${url.pathname})` },
    })
  response.writeHead(status, headers).end(body)
}
