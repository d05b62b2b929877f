import cors from '@koa/cors'
import type { Middleware } from 'koa'
import { defined } from '../domain/defined.ts'
import { invalidRequest } from '../domain/failure.ts'
import { randomText } from '../domain/ids.ts'
import { BodyError } from '../streams/bodyError.ts'
import type { ApiDeps, ApiState } from './context.ts'
import { writeFailure } from './errors.ts'

/** What every request passes before its route, in the order of this file: see `app.ts`. */

/**
 * Gives the request its id and the headers that every answer carries. A client's own `x-request-id` is
 * ignored: one client could forge the log lines of another.
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

/** Reports each request once to `observe`, when its answer has been sent or its client has left. */
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

/** Others become `OTHER`: the method is a metric label, and a client may invent any number of them. */
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

/** The status that nginx logs when a client leaves before its answer is sent. It is never sent. */
const clientClosedRequest = 499

/**
 * Lets pages of any origin call the API, without credentials: a page must know the API key itself. A
 * preflight request carries no key, so it is answered here, before authentication.
 */
export function allowAnyOrigin(): Middleware<ApiState> {
  return cors({
    origin: '*',
    allowMethods: 'GET, HEAD, POST, OPTIONS',
    exposeHeaders: exposedHeaders,
    maxAge: preflightMaxAgeSeconds,
  })
}

/** Browsers hide every other header of an answer from scripts (Fetch standard). */
const exposedHeaders = [
  'Accept-Ranges',
  'Allow',
  'Content-Disposition',
  'Content-Length',
  'Content-Range',
  'ETag',
  'Idempotent-Replayed',
  'Location',
  'Retry-After',
  'WWW-Authenticate',
  'x-request-id',
  'x-should-retry',
  'X-Task-Id',
]

/** The longest time for which Chromium caches a preflight answer. */
const preflightMaxAgeSeconds = 7200

/**
 * A thrown error is a bug or an outage. It is reported in full to the operator, and the client gets a 500
 * that contains nothing of it. A client that left in the middle of its body is neither.
 */
export function catchErrors(deps: ApiDeps): Middleware<ApiState> {
  return async (context, next) => {
    try {
      await next()
    } catch (error) {
      const { requestId, route } = context.state
      if (!leftDuringBody(error)) deps.reportError?.(error, { requestId, route })
      if (!context.headerSent) writeFailure(context, { tag: 'internal_error' })
    }
  }
}

function leftDuringBody(error: unknown): boolean {
  return error instanceof BodyError && error.failure.tag === 'interrupted'
}

/**
 * Refuses a request without exactly one Host header (RFC 9112 section 3.2). Darkroom does not read the
 * Host, but a proxy in front of it does, and two Host headers may mean different things to the two. Node
 * could check for a missing Host itself, but answers without a body.
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
