import { sendJson } from './answers/sendBody.ts'
import type { ApiContext, ApiState, HttpFailure } from './context.ts'
import { assertNever } from '../domain/assertNever.ts'
import { defined } from '../domain/defined.ts'
import { taskFailureMessages } from '../domain/failure.ts'
import { webhooksMax } from '../domain/webhooks/webhook.ts'

/**
 * Answers a request with a failure: sets the status, the headers, and the body in the envelope of the route.
 */
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
  readonly headers?: Headers
}

/** Each name is written in the letter case in which it is sent. */
type Headers = Readonly<Record<string, string>>

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

/** Names the operation that exists, where Google's clients ask for one that streams. */
function insteadOf(request: string): string {
  return /:streamGenerateContent$/i.test(request)
    ? '. Answers are not streamed: use :generateContent.'
    : ''
}

/** A header that tells the official OpenAI clients not to send the request again. */
const doNotRetry = { 'x-should-retry': 'false' }

/** Returns the answer to a failure. `request` is the method and path of the request. */
function errorReply(failure: HttpFailure, request: string): ErrorReply {
  switch (failure.tag) {
    case 'invalid_request':
      return { ...invalid(400, failure.code, failure.message), param: failure.param }
    case 'unauthenticated':
      return invalid(401, 'invalid_api_key', 'The API key is missing or invalid.', {
        'WWW-Authenticate': `Bearer realm="darkroom"${failure.tokenSent ? ', error="invalid_token"' : ''}`,
      })
    case 'access_denied':
      return newApi(403, 'access_denied', failure.message)
    case 'insufficient_quota': {
      const needed = `The balance does not cover this request, which needs ${failure.requiredCredits} credits.`
      return newApi(403, 'insufficient_user_quota', needed)
    }
    case 'over_budget': {
      const { credits, period, used, renewsAtMs } = failure.budget
      const renews = new Date(renewsAtMs).toISOString().replace('.000Z', 'Z')
      const message = `The budget of this API key is ${credits} credits per ${period}, and ${used} are used. This request needs ${failure.requiredCredits} credits. The budget renews at ${renews}.`
      return { ...newApi(403, 'insufficient_user_quota', message), param: null }
    }
    case 'not_found':
      return invalid(404, 'not_found', `Invalid URL (${request})${insteadOf(request)}`)
    case 'task_not_found':
      return invalid(404, 'task_not_found', 'There is no such task.')
    case 'webhook_not_found':
      return invalid(404, 'webhook_not_found', 'There is no such webhook.')
    case 'delivery_not_found':
      return invalid(404, 'delivery_not_found', 'The webhook has no such delivery.')
    case 'asset_not_found':
      return invalid(404, 'not_found', 'The asset does not exist or has expired.')
    case 'unknown_model':
      return {
        ...invalid(404, 'model_not_found', 'There is no such model.'),
        param: 'model',
      }
    case 'result_expired':
      return invalid(
        404,
        'result_expired',
        'The image of this Idempotency-Key has expired. A new request needs a new key.',
        doNotRetry,
      )
    case 'method_not_allowed':
      return invalid(405, 'method_not_allowed', `Method not allowed (${request})`, {
        Allow: failure.allow.join(', '),
      })
    case 'task_not_finished':
      return conflict('task_not_finished', 'The task is not finished yet.')
    case 'task_failed':
      return conflict('task_failed', 'The task failed and has no result.')
    case 'task_not_cancellable':
      return conflict('task_not_cancellable', notCancellableMessages[failure.reason])
    case 'idempotency_key_reused':
      return conflict(
        'idempotency_key_reused',
        'The Idempotency-Key already belongs to a different request.',
      )
    case 'webhook_disabled':
      return conflict('webhook_disabled', 'The webhook is disabled. Enable it first.')
    case 'too_many_webhooks':
      return conflict(
        'too_many_webhooks',
        `An account can have ${webhooksMax} webhooks. Delete one first.`,
      )
    case 'body_too_large': {
      const what =
        failure.texts === true ? 'texts of the request body exceed' : 'request body exceeds'
      const message = `${what} ${sizeText(failure.limitBytes)}: request body too large`
      return newApi(413, 'read_request_body_failed', message)
    }
    case 'range_not_satisfiable':
      return invalid(416, 'range_not_satisfiable', 'The range is outside the asset.', {
        'Content-Range': `bytes */${failure.bytes}`,
      })
    case 'overloaded':
      return rateLimited(
        'Too many large requests are in progress. Try again later.',
        failure.retryAfterSeconds,
      )
    case 'too_many_waiters':
      return rateLimited(
        'Too many requests wait for tasks. Try again later, or read the task without waiting.',
        failure.retryAfterSeconds,
      )
    case 'too_many_tests':
      return rateLimited('Too many test events of this webhook are pending. Try again later.')
    case 'task_ended':
      return taskFailureAnswer(failure)
    case 'sync_deadline':
      return newApi(
        500,
        'generation_timeout',
        'The image is not finished yet. The task continues.',
        doNotRetry,
      )
    case 'internal_error':
      return newApi(500, 'internal_error', 'The request could not be completed.')
    case 'not_ready':
      return newApi(503, 'not_ready', 'Not ready.')
    default:
      return assertNever(failure)
  }
}

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

type TaskEnded = Extract<HttpFailure, { tag: 'task_ended' }>

/**
 * The answer to a synchronous call whose task failed. A 500 tells the client not to retry after a call that may have
 * done work, and after a cancel that somebody asked for. After any other failure a retry costs nothing and may
 * succeed. Clients of the Images API know a rejection by moderation as `moderation_blocked`. Records of tasks have
 * `content_policy_violation` for both families.
 */
function taskFailureAnswer({ failure, family }: TaskEnded): ErrorReply {
  const { code, cause, workPossible, retryAfterMs } = failure
  const message = taskFailureMessages[code]
  if (code === 'rate_limit_exceeded') {
    if (retryAfterMs === undefined) return rateLimited(message)
    return rateLimited(message, Math.max(1, Math.ceil(retryAfterMs / 1000)))
  }
  if (cause === 'rejected') {
    const isModeration = family === 'B' && code === 'content_policy_violation'
    return invalid(400, isModeration ? 'moderation_blocked' : code, message)
  }
  const publicCode = code === 'upstream_error' ? 'do_request_failed' : code
  const isFinal = workPossible || cause === 'cancelled'
  return newApi(500, publicCode, message, isFinal ? doNotRetry : undefined)
}

function invalid(status: number, code: string, message: string, headers?: Headers): ErrorReply {
  const type = 'invalid_request_error'
  return { status, type, code, param: null, message, ...defined({ headers }) }
}

function conflict(code: string, message: string): ErrorReply {
  return invalid(409, code, message, doNotRetry)
}

function newApi(status: number, code: string, message: string, headers?: Headers): ErrorReply {
  return { status, type: 'new_api_error', code, param: '', message, ...defined({ headers }) }
}

function rateLimited(message: string, retryAfterSeconds?: number): ErrorReply {
  const headers =
    retryAfterSeconds === undefined ? undefined : { 'Retry-After': String(retryAfterSeconds) }
  return {
    status: 429,
    type: 'rate_limit_error',
    code: 'rate_limit_exceeded',
    param: null,
    message,
    ...defined({ headers }),
  }
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

function sizeText(bytes: number): string {
  const mebibytes = bytes / (1024 * 1024)
  return Number.isInteger(mebibytes) ? `${mebibytes} MB` : `${bytes} bytes`
}
