import cors from '@koa/cors'
import type { Middleware } from 'koa'
import type { ApiDeps, ApiState } from './context.ts'
import { defined } from '../domain/defined.ts'
import { invalidRequest } from '../domain/failure.ts'
import { randomText } from '../domain/ids.ts'
import { writeFailure } from './errors.ts'

// The middleware that every request passes before its route. `app.ts` uses it in the order of this file.

/**
 * Gives the request its id and the headers that every answer has. The client's own `x-request-id` is ignored:
 * with it, one client could write log lines that seem to belong to another client.
 */
export function startRequest(deps: ApiDeps): Middleware<ApiState> {
  return async (context, next) => {
    const requestId = newRequestId(deps.randomBytes)
    context.state = { requestId, route: 'unmatched', envelope: 'full' }
    context.set('x-request-id', requestId)
    context.set('Cache-Control', 'no-store')
    context.set('X-Content-Type-Options', 'nosniff')
    await next()
  }
}

export function newRequestId(randomBytes: ApiDeps['randomBytes']): string {
  return `req_${randomText(randomBytes, 24)}`
}

/** Calls `observe` once for each request, when the answer has been sent or the client has left. */
export function observeRequest(deps: ApiDeps): Middleware<ApiState> {
  return async (context, next) => {
    const startedAtMs = performance.now()
    const { state, res, method } = context
    res.once('close', () => {
      deps.observe?.({
        route: state.route,
        method: knownMethods.has(method) ? method : 'OTHER',
        status: res.writableFinished ? res.statusCode : clientClosedRequest,
        durationMs: performance.now() - startedAtMs,
        requestId: state.requestId,
        ...defined({ accountId: state.accountId, taskId: state.taskId, replayed: state.replayed }),
      })
    })
    await next()
  }
}

/**
 * Every other method is reported as `OTHER`. The method is a label of a metric, and each new label value
 * takes memory; a client could invent any number of methods.
 */
const knownMethods: ReadonlySet<string> = new Set([
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
  'TRACE',
])

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

/** The methods of all routes together. */
export const allowedMethods = 'GET, HEAD, POST, DELETE, OPTIONS'

/** The headers that a script in a browser may read. Browsers hide most other headers from scripts. */
const exposedHeaders = [
  'Accept-Ranges',
  'Allow',
  'Content-Disposition',
  'Content-Length',
  'Content-Range',
  'ETag',
  'Idempotent-Replayed',
  'Location',
  'Preference-Applied',
  'Retry-After',
  'WWW-Authenticate',
  'x-request-id',
  'x-should-retry',
  'X-Credits-Charged',
  'X-Credits-Held',
  'X-Task-Id',
]

/** How long a browser may cache a preflight answer. Chromium caches it for two hours at most. */
const preflightMaxAgeSeconds = 7200

/**
 * Catches thrown errors. A thrown error is a bug or an outage: the operator gets a full report, and the
 * client gets a 500 that contains no detail of the error.
 */
export function catchErrors(deps: ApiDeps): Middleware<ApiState> {
  return async (context, next) => {
    try {
      await next()
    } catch (error) {
      const { requestId, route } = context.state
      deps.reportError?.(error, { requestId, route })
      if (!context.headerSent) writeFailure(context, { tag: 'internal_error' })
    }
  }
}

/**
 * Answers 400 unless the request has exactly one Host header (RFC 9112 section 3.2). HTTP/1.0 may leave Host
 * out. The API does not read the Host header, but a proxy in front of Darkroom may choose one of two Host
 * headers, and then nobody can say which host the request is for. Node can check only that the header is
 * present, and Node's answer has no body.
 */
export function requireHost(): Middleware<ApiState> {
  return async (context, next) => {
    const { httpVersion, headersDistinct } = context.req
    const hosts = headersDistinct['host']?.length ?? 0
    if (hosts === 1 || (hosts === 0 && httpVersion === '1.0')) return next()
    writeFailure(context, notOneHost)
    return undefined
  }
}

const notOneHost = invalidRequest(
  'invalid_request',
  'Host',
  'The request must have exactly one Host header.',
)
