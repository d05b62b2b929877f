import cors from '@koa/cors'
import type { Middleware } from 'koa'
import { answerHeaders } from './answers/answerHeaders.ts'
import type { ApiState } from './requestState.ts'
import { defined } from '../domain/defined.ts'
import { randomText } from '../domain/ids.ts'
import { writeFailure } from './errors.ts'

// The middleware that every request passes before its route. `apiApp.ts` uses it in the order of this file.

/** Who is told of requests. */
export type RequestObservers = {
  /** Called once per request, when its answer has been sent or its client has left. Must not throw. */
  readonly observe?: (seen: Observation) => void
  /** Called with every error that is a bug or an outage. Must not throw. */
  readonly reportError?: (error: unknown, request: ReportedRequest) => void
}

/** One request, for the access log and the metrics. It never contains text that the client wrote. */
export type Observation = {
  /** The pattern of the route. `unmatched` when no route matches the request. */
  readonly route: string
  /**
   * One of the methods that Node's parser knows. It refuses every other one, so that no client can invent labels of a
   * metric.
   */
  readonly method: string
  /** 499 when the client left before the whole answer was sent. */
  readonly status: number
  readonly durationMs: number
  readonly requestId: string
  readonly accountId?: string
  readonly keyId?: string
  readonly taskId?: string
  /**
   * False when the request made a new task, true when its key named an earlier task, absent when it did
   * neither.
   */
  readonly replayed?: boolean
}

type ReportedRequest = { readonly requestId: string; readonly route: string }

/**
 * Gives the request its id and the headers that every answer has. The client's own `x-request-id` is ignored:
 * with it, one client could write log lines that seem to belong to another client.
 */
export function startRequest(): Middleware<ApiState> {
  return async (context, next) => {
    const requestId = newRequestId()
    context.state = { requestId, route: 'unmatched', envelope: 'full' }
    context.set('x-request-id', requestId)
    context.set('Cache-Control', 'no-store')
    context.set('X-Content-Type-Options', 'nosniff')
    await next()
  }
}

export function newRequestId(): string {
  return `req_${randomText(24)}`
}

/** Calls `observe` once for each request, when the answer has been sent or the client has left. */
export function observeRequest(deps: RequestObservers): Middleware<ApiState> {
  return async (context, next) => {
    const startedAtMs = performance.now()
    const { state, res, method } = context
    res.once('close', () => {
      deps.observe?.({
        route: state.route,
        method,
        status: res.writableFinished
          ? (state.streamedStatus ?? res.statusCode)
          : clientClosedRequest,
        durationMs: performance.now() - startedAtMs,
        requestId: state.requestId,
        ...defined({
          accountId: state.accountId,
          keyId: state.keyId,
          taskId: state.taskId,
          replayed: state.replayed,
        }),
      })
    })
    await next()
  }
}

/**
 * Status for the log only, as in nginx: the client left before its answer was sent. Never sent to a client.
 */
const clientClosedRequest = 499

/**
 * Lets web pages of any origin call the API, but without the browser's stored credentials: a page must send
 * the API key itself. A preflight request has no API key, so it is answered here, before authentication.
 */
export function allowAnyOrigin(): Middleware<ApiState> {
  return cors({
    origin: '*',
    allowMethods: allowedMethods,
    exposeHeaders: exposedHeaders,
    maxAge: preflightMaxAgeSeconds,
  })
}

/** The methods of all routes of the API. */
const allowedMethods = 'GET, HEAD, POST, DELETE, OPTIONS'

/** The headers that a script in a browser may read. Browsers hide most other headers from scripts. */
const exposedHeaders = [...Object.keys(answerHeaders), 'Allow', 'Content-Length']

/** How long a browser may cache a preflight answer. Chromium caches it for two hours at most. */
const preflightMaxAgeSeconds = 7200

/**
 * Catches thrown errors. A thrown error is a bug or an outage: the operator gets a full report, and the
 * client gets a 500 that contains no detail of the error.
 */
export function catchErrors(deps: RequestObservers): Middleware<ApiState> {
  return async (context, next) => {
    try {
      await next()
    } catch (error) {
      const { requestId, route } = context.state
      deps.reportError?.(error, { requestId, route })
      if (!context.headerSent || context.state.stream !== undefined) {
        writeFailure(context, { tag: 'internal_error' })
      }
    }
  }
}

type WriteLine = (message: string, fields: Observation) => void

/** Creates the observer of requests. For every request it writes the access log and, where given, the metrics. */
export function observeRequests(parts: {
  readonly log: Readonly<Record<'info' | 'debug', WriteLine>>
  readonly metrics?: { readonly request: (seen: Observation) => void }
}) {
  return (seen: Observation): void => {
    parts.metrics?.request(seen)
    const level = isSuccessfulProbe(seen) ? 'debug' : 'info'
    parts.log[level]('request', { ...seen, durationMs: Math.round(seen.durationMs) })
  }
}

/**
 * Returns whether a request is a successful probe. Load balancers probe every few seconds, so these requests
 * are logged at level debug.
 */
function isSuccessfulProbe({ route, status }: Observation): boolean {
  return status === 200 && (route === '/healthz' || route === '/readyz')
}
