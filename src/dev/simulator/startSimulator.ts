import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { httpUrl } from '../../config.ts'
import { listen } from '../../http/connection/createServer.ts'
import { type CallLog, type CallMatcher, createCallLog, type SimulatorCall } from './callLog.ts'
import { controlPrefix, serveControl } from './control.ts'
import { createDrawImage } from './drawImage.ts'
import { createFaultPlan } from './faultPlan.ts'
import { createHoldGate } from './holdGate.ts'
import { defaultLatency } from './latency.ts'
import { createRateLimiter } from './rateLimiter.ts'
import { jsonReply } from './reply.ts'
import { serveCall, type ServeDependencies } from './serveCall.ts'
import type { Simulator, SimulatorControls, SimulatorOptions } from './simulator.ts'
import type { Operation } from './vendor.ts'

export type { Simulator, SimulatorOptions } from './simulator.ts'

/** Long beyond any client's pause, so that no kept connection dies under a request. */
const keepAliveTimeoutMs = 75_000
const requestTimeoutMs = 600_000
const timeouts = {
  keepAliveTimeout: keepAliveTimeoutMs,
  headersTimeout: requestTimeoutMs,
  requestTimeout: requestTimeoutMs,
}
const waitPollMs = 5
const waitTimeoutMs = 10_000
const strayPath = '/elsewhere/image.png'

/** A real HTTP server that speaks both vendors' wire formats: README.md beside this file. */
export async function startSimulator(options: SimulatorOptions): Promise<Simulator> {
  const log = createCallLog()
  const plan = createFaultPlan()
  const limiter = createRateLimiter()
  const gate = createHoldGate()
  const host = options.host ?? '127.0.0.1'
  let closing = false
  let strayRequests = 0
  const controls: SimulatorControls = {
    calls: log.list,
    clearCalls: log.clear,
    script: plan.script,
    clearFaults: plan.clear,
    limit: limiter.limit,
    clearLimits: limiter.clear,
    release: (matcher = {}) => gate.release(matcher),
  }
  const deps: ServeDependencies = {
    log,
    plan,
    limiter,
    gate,
    draw: createDrawImage(options.image ?? 'drawn'),
    latency: options.latency ?? defaultLatency,
    vendorLimits: options.vendorLimits ?? false,
    keys: options.keys ?? {},
    elsewhere: (request) => `http://${request.headers.host ?? host}${strayPath}`,
    closing: () => closing,
    ended: options.log ?? (() => undefined),
  }
  const routes = { deps, controls, prefixB: options.prefixB ?? '/v1' }
  const server = createServer(timeouts, (request, response) => {
    if (pathOf(request) === strayPath) strayRequests += 1
    route(request, response, routes).catch(() => response.destroy())
  })
  const port = await listen(server, { host, port: options.port })
  return {
    ...controls,
    url: httpUrl(host, port),
    port,
    waitForCalls: (count, matcher, timeoutMs) => waitForCalls(log, count, matcher, timeoutMs),
    strayRequests: () => strayRequests,
    reset() {
      log.clear()
      plan.clear()
      limiter.clear()
      strayRequests = 0
    },
    async close() {
      closing = true
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

type Routes = {
  readonly deps: ServeDependencies
  readonly controls: SimulatorControls
  readonly prefixB: string
}

const base = 'http://simulator'
/** A request may hold what is no address at all; then it is for nobody. */
const urlOf = (request: IncomingMessage): URL =>
  URL.parse(request.url ?? '/', base) ?? new URL(base)
const pathOf = (request: IncomingMessage): string => urlOf(request).pathname

async function route(
  request: IncomingMessage,
  response: ServerResponse,
  { deps, controls, prefixB }: Routes,
): Promise<void> {
  const url = urlOf(request)
  const operation = operationOf(request.method ?? '', url.pathname, prefixB)
  if (operation !== null) return serveCall(operation, request, response, deps)
  if (url.pathname.startsWith(controlPrefix)) return serveControl(request, response, url, controls)
  const { status, headers, body } = jsonReply(404, {
    error: { message: `Invalid URL (${request.method} ${url.pathname})` },
  })
  response.writeHead(status, headers).end(body)
}

function operationOf(method: string, path: string, prefixB: string): Operation | null {
  if (method !== 'POST') return null
  if (path === `${prefixB}/images/generations`) return { family: 'B', action: 'generate' }
  if (path === `${prefixB}/images/edits`) return { family: 'B', action: 'edit' }
  const model = /^\/v1beta\/models\/([^/:]+):generateContent$/.exec(path)?.[1]
  return model === undefined ? null : { family: 'A', model: decode(model) }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

async function waitForCalls(
  log: CallLog,
  count: number,
  matcher: CallMatcher = {},
  timeoutMs: number = waitTimeoutMs,
): Promise<SimulatorCall[]> {
  const until = Date.now() + timeoutMs
  for (;;) {
    const calls = log.list(matcher)
    if (calls.length >= count) return calls
    if (Date.now() > until) {
      throw new Error(`The simulator saw ${calls.length} of ${count} calls within ${timeoutMs} ms`)
    }
    await sleep(waitPollMs)
  }
}
