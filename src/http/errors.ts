import { sendJson } from './answers/sendBody.ts'
import type { ApiContext, ApiState, HttpFailure } from './context.ts'
import { overLimitSeconds, overLimitText } from '../domain/accounts/limits.ts'
import { assertNever } from '../domain/assertNever.ts'
import { taskFailureMessages } from '../domain/failure.ts'
import { webhooksMax } from '../domain/webhooks/webhook.ts'

// The one place that makes the answer to every failure: status, type, code, text and headers. `errorNames.ts` lists the
// errors for the OpenAPI document.

/** Answers a request with a failure, in the envelope of its route. */
export function writeFailure(context: ApiContext, failure: HttpFailure): void {
  const { requestId, envelope, retryIsUnsafe } = context.state
  const answer = errorReply(failure, requestLine(context))
  context.set({ ...answer.headers, 'Cache-Control': 'no-store' })
  if (answer.status >= 500 && retryIsUnsafe === true) context.set(doNotRetry)
  sendJson(context, answer.status, errorBody(answer, envelope, requestId))
}

/** The content of one error answer. `errorBody` puts it into an envelope. */
export type ErrorReply = {
  readonly status: number
  readonly type: 'invalid_request_error' | 'new_api_error' | 'rate_limit_error'
  readonly code: string
  /**
   * The request field that is wrong, or null when no field is. When `type` is `new_api_error`, this is the empty
   * text instead. Only the error about the budget of a key has that type and null.
   */
  readonly param: string | null
  readonly message: string
  /** Each name is written in the letter case in which it is sent. */
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * Returns the body of an error answer. The message of a 5xx contains the request id, so that the client can
 * report the request.
 */
export function errorBody(
  { status, type, code, param, message: text }: ErrorReply,
  envelope: ApiState['envelope'],
  requestId: string,
): object {
  const message = status >= 500 ? `${text} (request id: ${requestId})` : text
  return envelope === 'short'
    ? { error: { code, message } }
    : { error: { message, type, param, code } }
}

/**
 * The errors that say the same to every client: status and text, and the code where it is not the name. A 409 says
 * that another request cannot help (`reply`).
 */
export const fixedErrors = {
  not_http: [400, 'The request is not valid HTTP.', 'invalid_request'],
  task_not_found: [404, 'There is no such task.'],
  webhook_not_found: [404, 'There is no such webhook.'],
  delivery_not_found: [404, 'The webhook has no such delivery.'],
  asset_not_found: [404, 'The asset does not exist or has expired.', 'not_found'],
  request_timeout: [408, 'The request did not arrive in time.', 'invalid_request'],
  task_not_finished: [409, 'The task is not finished yet.'],
  task_failed: [409, 'The task failed and has no result.'],
  idempotency_key_reused: [409, 'The Idempotency-Key already belongs to a different request.'],
  webhook_disabled: [409, 'The webhook is disabled. Enable it first.'],
  too_many_webhooks: [409, `An account can have ${webhooksMax} webhooks. Delete one first.`],
  too_many_tests: [
    429,
    'Too many test events of this webhook are pending. Try again later.',
    'rate_limit_exceeded',
  ],
  headers_too_large: [431, 'The request headers are too large.', 'invalid_request'],
  internal_error: [500, 'The request could not be completed.'],
  not_ready: [503, 'Not ready.'],
} as const satisfies {
  readonly [Tag in HttpFailure['tag']]?: readonly [status: number, text: string, code?: string]
}

/** The name of an error that says the same to every client. It is the tag of its failure. */
export type FixedError = keyof typeof fixedErrors

export function isFixedError(name: string): name is FixedError {
  return Object.hasOwn(fixedErrors, name)
}

function isFixed(failure: HttpFailure): failure is Extract<HttpFailure, { tag: FixedError }> {
  return isFixedError(failure.tag)
}

/** Returns the answer to a failure. `request` is the method and path, which only an unknown path or method needs. */
export function errorReply(failure: HttpFailure, request = ''): ErrorReply {
  if (isFixed(failure)) {
    const [status, text, code = failure.tag] = fixedErrors[failure.tag]
    return reply(status, code, text)
  }
  switch (failure.tag) {
    case 'invalid_request':
      return reply(400, failure.code, failure.message, { param: failure.param })
    case 'unauthenticated': {
      const challenge = `Bearer realm="darkroom"${failure.tokenSent ? ', error="invalid_token"' : ''}`
      return reply(401, 'invalid_api_key', 'The API key is missing or invalid.', {
        headers: { 'WWW-Authenticate': challenge },
      })
    }
    case 'access_denied':
      return reply(403, 'access_denied', failure.message)
    case 'insufficient_quota': {
      const needed = `The balance does not cover this request, which needs ${failure.requiredCredits} credits.`
      return reply(403, 'insufficient_user_quota', needed)
    }
    case 'over_budget': {
      const { credits, period, used, renewsAtMs } = failure.budget
      const renews = new Date(renewsAtMs).toISOString().replace('.000Z', 'Z')
      const message = `The budget of this API key is ${credits} credits per ${period}, and ${used} are used. This request needs ${failure.requiredCredits} credits. The budget renews at ${renews}.`
      return reply(403, 'insufficient_user_quota', message, { param: null })
    }
    case 'not_found':
      return reply(404, 'not_found', `Invalid URL (${request})${insteadOf(request)}`)
    case 'no_such':
      return reply(404, 'not_found', failure.message)
    case 'operation_refused': {
      const { code, message, param = null } = failure
      return reply(param === null ? 409 : 400, code, message, { param })
    }
    case 'unknown_model':
      return reply(404, 'model_not_found', 'There is no such model.', { param: 'model' })
    case 'result_expired': {
      const message =
        'The image of this Idempotency-Key has expired. A new request needs a new key.'
      return reply(404, 'result_expired', message, { headers: doNotRetry })
    }
    case 'method_not_allowed': {
      const headers = { Allow: failure.allow.join(', ') }
      return reply(405, 'method_not_allowed', `Method not allowed (${request})`, { headers })
    }
    case 'task_not_cancellable':
      return reply(409, 'task_not_cancellable', notCancellableMessages[failure.reason])
    case 'body_too_large': {
      const what =
        failure.texts === true ? 'texts of the request body exceed' : 'request body exceeds'
      const message = `${what} ${sizeText(failure.limitBytes)}: request body too large`
      return reply(413, 'read_request_body_failed', message)
    }
    case 'range_not_satisfiable': {
      const headers = { 'Content-Range': `bytes */${failure.bytes}` }
      return reply(416, 'range_not_satisfiable', 'The range is outside the asset.', { headers })
    }
    case 'too_many_requests':
    case 'too_many_live_tasks':
      return rateLimited(overLimitText(failure), overLimitSeconds(failure))
    case 'overloaded':
    case 'too_many_waiters':
      return rateLimited(overloadMessages[failure.tag], failure.retryAfterSeconds)
    case 'task_ended':
      return taskFailureReply(failure)
    case 'sync_deadline': {
      const message = 'The image is not finished yet. The task continues.'
      return reply(500, 'generation_timeout', message, { headers: doNotRetry })
    }
    default:
      return assertNever(failure)
  }
}

const overloadMessages = {
  overloaded: 'Too many large requests are in progress. Try again later.',
  too_many_waiters:
    'Too many requests wait for tasks. Try again later, or read the task without waiting.',
} as const

/** A header that tells the official OpenAI clients not to send the request again. */
const doNotRetry = { 'x-should-retry': 'false' }

const notCancellableMessages: Readonly<
  Record<Extract<HttpFailure, { tag: 'task_not_cancellable' }>['reason'], string>
> = {
  call_under_way:
    'A call of the upstream model is under way. The task continues, and is charged if it gets an image.',
  work_possible:
    'An earlier call of the upstream model may have done work. The task continues, and is charged if it gets an image.',
  succeeded: 'The task has already succeeded.',
  failed: 'The task has already failed.',
}

/**
 * The answer to a synchronous call whose task failed. A 500 tells the client not to retry after a call that may have
 * done work, and after a cancel that somebody asked for. After any other failure a retry costs nothing and may
 * succeed. Clients of the Images API know a rejection by moderation as `moderation_blocked`. Records of tasks have
 * `content_policy_violation` for both families.
 */
function taskFailureReply(ended: Extract<HttpFailure, { tag: 'task_ended' }>): ErrorReply {
  const { code, cause, workPossible, retryAfterMs } = ended.failure
  const message = taskFailureMessages[code]
  if (code === 'rate_limit_exceeded') {
    if (retryAfterMs === undefined) return rateLimited(message)
    return rateLimited(message, Math.max(1, Math.ceil(retryAfterMs / 1000)))
  }
  if (cause === 'rejected') {
    const isModeration = ended.family === 'B' && code === 'content_policy_violation'
    return reply(400, isModeration ? 'moderation_blocked' : code, message)
  }
  const publicCode = code === 'upstream_error' ? 'do_request_failed' : code
  const isFinal = workPossible || cause === 'cancelled'
  return reply(500, publicCode, message, isFinal ? { headers: doNotRetry } : {})
}

function rateLimited(message: string, retryAfterSeconds?: number): ErrorReply {
  const headers =
    retryAfterSeconds === undefined ? {} : { 'Retry-After': String(retryAfterSeconds) }
  return reply(429, 'rate_limit_exceeded', message, { headers })
}

/** Makes an answer. Its type follows from the status. No client needs to repeat a request that got a 409. */
function reply(
  status: number,
  code: string,
  message: string,
  more: Pick<Partial<ErrorReply>, 'param' | 'headers'> = {},
): ErrorReply {
  const headers = status === 409 ? doNotRetry : {}
  const common = { status, code, message, headers }
  if (status === 429) return { ...common, type: 'rate_limit_error', param: null, ...more }
  return status === 403 || status === 413 || status >= 500
    ? { ...common, type: 'new_api_error', param: '', ...more }
    : { ...common, type: 'invalid_request_error', param: null, ...more }
}

const pathLengthMax = 200

/**
 * Returns the method and path for a message. The path is text of the client, so it is shortened. The query is
 * left out, because it may contain secrets. `path` is null for an address such as `http://`, although Koa's
 * types say that it is a string.
 */
function requestLine({ method, path }: { method: string; path: string | null }): string {
  return `${method} ${(path ?? '').slice(0, pathLengthMax)}`
}

/** Names the operation that exists, where Google's clients ask for one that streams. */
function insteadOf(request: string): string {
  return /:streamGenerateContent$/i.test(request)
    ? '. Answers are not streamed: use :generateContent.'
    : ''
}

function sizeText(bytes: number): string {
  const mebibytes = bytes / (1024 * 1024)
  return Number.isInteger(mebibytes) ? `${mebibytes} MB` : `${bytes} bytes`
}
