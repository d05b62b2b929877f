import { assertNever } from '../domain/assertNever.ts'
import type { RequestFailure, TaskFailure } from '../domain/failure.ts'
import { taskFailureMessages } from '../domain/failure.ts'
import { sendJson } from './answers/answerAccepted.ts'
import { keepOpenForRest } from './connection/lingering.ts'
import type { ApiContext } from './context.ts'

/** A path is the client's own text: echoed shortened, and never its query, which may carry secrets. */
const pathLengthMax = 200

/** The only writer of error answers, in both envelopes (spec, Error envelope and GET task lookup). */
export function writeFailure(context: ApiContext, failure: HttpFailure): void {
  const { requestId, envelope, retryMayRepeatWork } = context.state
  const description = describeFailure(failure, requestLine(context))
  for (const [name, value] of Object.entries(description.headers ?? {})) context.set(name, value)
  if (description.status >= 500 && retryMayRepeatWork === true) {
    context.set('x-should-retry', 'false')
  }
  context.set('Cache-Control', 'no-store')
  keepOpenForRest(context.req, context.res)
  sendJson(context, description.status, errorBody(description, envelope, requestId))
}

/** An address such as `http://` has no path at all, whatever Koa's types say. */
function requestLine({ method, path }: { method: string; path: string | null }): string {
  return `${method} ${(path ?? '').slice(0, pathLengthMax)}`
}

/** The body alone, for answers to requests that never became one (`createServer.ts`). */
export function errorBody(
  description: Description,
  envelope: 'full' | 'short',
  requestId: string,
): object {
  const { status, type, code, param } = description
  const message =
    status >= 500 ? `${description.message} (request id: ${requestId})` : description.message
  return envelope === 'short'
    ? { error: { code, message } }
    : { error: { message, type, param, code } }
}

/** One answer that is an error, before its envelope. `headers` in the casing they are sent in. */
export type Description = {
  readonly status: number
  readonly type: 'invalid_request_error' | 'new_api_error' | 'rate_limit_error'
  readonly code: string
  readonly param: string | null
  readonly message: string
  readonly headers?: Readonly<Record<string, string>>
}

const noRetry = { 'x-should-retry': 'false' }

/** Statuses, types, codes and texts: spec, Errors; research/wire.md sections 5 and 6; design section 4. */
function describeFailure(failure: HttpFailure, request: string): Description {
  switch (failure.tag) {
    case 'task_ended':
      return describeTaskFailure(failure.failure)
    case 'sync_deadline':
      return serverError(
        'generation_timeout',
        'The image is not finished yet. Its task goes on.',
        noRetry,
      )
    case 'result_expired':
      return invalid(
        404,
        'result_expired',
        'The image of this Idempotency-Key has expired. A new request needs a new key.',
        noRetry,
      )
    case 'asset_not_found':
      return invalid(404, 'not_found', 'There is no such asset, or no longer.')
    case 'range_not_satisfiable':
      return invalid(416, 'range_not_satisfiable', 'The asset has no such range.', {
        'Content-Range': `bytes */${failure.bytes}`,
      })
    case 'not_ready':
      return { ...serverError('not_ready', 'Not ready.'), status: 503 }
    case 'internal_error':
      return serverError('internal_error', 'The request could not be completed.')
    case 'invalid_request':
    case 'unauthenticated':
    case 'access_denied':
    case 'insufficient_quota':
    case 'idempotency_key_reused':
    case 'body_too_large':
    case 'overloaded':
    case 'task_not_found':
    case 'task_not_finished':
    case 'task_failed':
    case 'not_found':
    case 'method_not_allowed':
      return describeRequestFailure(failure, request)
    default:
      return assertNever(failure)
  }
}

function describeRequestFailure(failure: RequestFailure, request: string): Description {
  switch (failure.tag) {
    case 'invalid_request':
      return { ...invalid(400, failure.code, failure.message), param: failure.param }
    case 'unauthenticated':
      return invalid(401, 'invalid_api_key', 'The API key is missing or invalid.', {
        'WWW-Authenticate': `Bearer realm="darkroom"${failure.tokenSent ? ', error="invalid_token"' : ''}`,
      })
    case 'access_denied':
      return newApi(403, 'access_denied', failure.message)
    case 'insufficient_quota':
      return newApi(
        403,
        'insufficient_user_quota',
        `The balance does not cover this request, which needs ${failure.requiredCredits} credits.`,
      )
    case 'body_too_large':
      return newApi(
        413,
        'read_request_body_failed',
        `${failure.texts === true ? 'texts of the request body exceed' : 'request body exceeds'} ${sizeText(failure.limitBytes)}: request body too large`,
      )
    case 'overloaded':
      return tooMany(
        'Too many large requests are under way. Try again later.',
        failure.retryAfterSeconds,
      )
    case 'idempotency_key_reused':
      return conflict(
        'idempotency_key_reused',
        'The Idempotency-Key already belongs to a different request.',
      )
    case 'task_not_found':
      return invalid(404, 'task_not_found', 'There is no such task.')
    case 'task_not_finished':
      return conflict('task_not_finished', 'The task is not finished yet.')
    case 'task_failed':
      return conflict('task_failed', 'The task failed and has no result.')
    case 'not_found':
      return invalid(404, 'not_found', `Invalid URL (${request})`)
    case 'method_not_allowed':
      return invalid(405, 'method_not_allowed', `Method not allowed (${request})`, {
        Allow: failure.allow.join(', '),
      })
    default:
      return assertNever(failure)
  }
}

/** Design section 4, Ends of a task; `cancelled` has done no work, so a new try is welcome. */
function describeTaskFailure(failure: TaskFailure): Description {
  const { code, cause, workPossible, retryAfterMs } = failure
  const message = taskFailureMessages[code]
  if (code === 'rate_limit_exceeded') {
    const seconds =
      retryAfterMs === undefined ? undefined : Math.max(1, Math.ceil(retryAfterMs / 1000))
    return tooMany(message, seconds)
  }
  if (cause === 'rejected') return invalid(400, code, message)
  const wireCode = code === 'upstream_error' ? 'do_request_failed' : code
  return serverError(wireCode, message, workPossible ? noRetry : undefined)
}

type Headers = Readonly<Record<string, string>>

function invalid(status: number, code: string, message: string, headers?: Headers): Description {
  return {
    status,
    type: 'invalid_request_error',
    code,
    param: null,
    message,
    ...withHeaders(headers),
  }
}

function newApi(status: number, code: string, message: string, headers?: Headers): Description {
  return { status, type: 'new_api_error', code, param: '', message, ...withHeaders(headers) }
}

function serverError(code: string, message: string, headers?: Headers): Description {
  return newApi(500, code, message, headers)
}

function conflict(code: string, message: string): Description {
  return invalid(409, code, message, noRetry)
}

function tooMany(message: string, retryAfterSeconds: number | undefined): Description {
  return {
    status: 429,
    type: 'rate_limit_error',
    code: 'rate_limit_exceeded',
    param: null,
    message,
    ...(retryAfterSeconds === undefined
      ? {}
      : { headers: { 'Retry-After': String(retryAfterSeconds) } }),
  }
}

function withHeaders(headers: Headers | undefined): { headers?: Headers } {
  return headers === undefined ? {} : { headers }
}

function sizeText(bytes: number): string {
  const mebibytes = bytes / (1024 * 1024)
  return Number.isInteger(mebibytes) ? `${mebibytes} MB` : `${bytes} bytes`
}

/** Every end of a request without its answer; `errors.ts` translates it. */
export type HttpFailure =
  | RequestFailure
  /** A synchronous call's task ended without an image. */
  | { readonly tag: 'task_ended'; readonly failure: TaskFailure }
  /** A synchronous call was held open as long as it may; its task goes on. */
  | { readonly tag: 'sync_deadline' }
  /** A synchronous call's key names a task whose image was kept as long as promised. */
  | { readonly tag: 'result_expired' }
  /** One body for foreign, random, tampered and expired asset URLs. */
  | { readonly tag: 'asset_not_found' }
  | { readonly tag: 'range_not_satisfiable'; readonly bytes: number }
  | { readonly tag: 'not_ready' }
  | { readonly tag: 'internal_error' }
