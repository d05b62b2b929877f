import { sendJson } from './answers/sendBody.ts'
import type { ApiContext, ApiState } from './requestState.ts'
import { overLimitSeconds, overLimitText } from '../domain/accounts/accountLimits.ts'
import type { RequestFailure } from '../domain/failure.ts'
import type { Family } from '../domain/models/models.ts'
import { taskFailureMessages } from '../domain/failure.ts'
import type { ErrorName, ErrorReply, FixedErrorName, NamedError } from './errorTable.ts'
import { namedError } from './errorTable.ts'

// The one place that makes the answer to every failure. Status, code and fixed texts are in the table of `errorTable.ts`.

/** Why a request does not get the answer it asked for. `errorReply` translates each failure to HTTP. */
export type HttpFailure =
  | RequestFailure
  | { readonly tag: 'too_many_waiters' | 'too_many_variants'; readonly retryAfterSeconds: number }
  | { readonly tag: 'range_not_satisfiable'; readonly bytes: number }
  /** What an operator asked for was not done, in the words of the operation. 404, or 409 unless a field is wrong. */
  | { readonly tag: 'no_such'; readonly message: string }
  | {
      readonly tag: 'operation_refused'
      readonly code: string
      readonly message: string
      readonly param?: string
    }
  /** These say the same to every client. */
  | {
      readonly tag:
        | 'generation_timeout'
        | 'result_expired'
        | 'asset_not_found'
        | 'unknown_model'
        | 'not_ready'
        | 'internal_error'
        | 'not_http'
        | 'request_timeout'
        | 'headers_too_large'
    }

/** Answers a request with a failure, in the envelope of its route, or as the event of a stream that has begun. */
export function writeFailure(context: ApiContext, failure: HttpFailure): void {
  const { requestId, envelope, retryIsUnsafe, stream } = context.state
  const answer = errorReply(failure, requestLine(context))
  const { status } = answer
  const headers = {
    ...answer.headers,
    ...(status >= 500 && retryIsUnsafe === true ? doNotRetry : {}),
  }
  if (stream !== undefined) {
    context.state.streamedStatus = status
    stream.end({ ...answer, headers, message: shownMessage(answer, requestId) })
    return
  }
  context.set({ ...headers, 'Cache-Control': 'no-store' })
  sendJson(context, status, errorBody(answer, envelope, requestId))
}

/** Returns the body of an error answer. */
export function errorBody(
  answer: ErrorReply,
  envelope: ApiState['envelope'],
  requestId: string,
): object {
  const { type, code, param } = answer
  const message = shownMessage(answer, requestId)
  return envelope === 'short'
    ? { error: { code, message } }
    : { error: { message, type, param, code } }
}

/** The message of a 5xx contains the request id, so that the client can report the request. */
function shownMessage({ status, message }: ErrorReply, requestId: string): string {
  return status >= 500 ? `${message} (request id: ${requestId})` : message
}

/** Returns the answer to a failure. `request` is the method and path, which only an unknown path or method needs. */
export function errorReply(failure: HttpFailure, request = ''): ErrorReply {
  // oxlint-disable-next-line typescript/switch-exhaustiveness-check -- `named` checks what is left for the default.
  switch (failure.tag) {
    case 'invalid_request':
      return reply({ status: 400, code: failure.code, text: failure.message, param: failure.param })
    case 'unauthenticated': {
      const challenge = `Bearer realm="darkroom"${failure.tokenSent ? ', error="invalid_token"' : ''}`
      return named('invalid_api_key', { headers: { 'WWW-Authenticate': challenge } })
    }
    case 'access_denied':
      return named('access_denied', { text: failure.message })
    case 'insufficient_quota': {
      const text = `The balance does not cover this request, which needs ${failure.requiredCredits} credits.`
      return named('insufficient_user_quota', { text })
    }
    case 'over_budget': {
      const { credits, period, used, renewsAtMs } = failure.budget
      const renews = new Date(renewsAtMs).toISOString().replace('.000Z', 'Z')
      const text = `The budget of this API key is ${credits} credits per ${period}, and ${used} are used. This request needs ${failure.requiredCredits} credits. The budget renews at ${renews}.`
      return named('insufficient_user_quota', { text, param: null })
    }
    case 'not_found':
      return named('not_found', { text: `Invalid URL (${request})` })
    case 'no_such':
      return named('not_found', { text: failure.message })
    case 'operation_refused': {
      const { code, message: text, param = null } = failure
      return reply({ status: param === null ? 409 : 400, code, text, param })
    }
    case 'unknown_model':
      return named('unknown_model', { param: 'model' })
    case 'result_expired':
      return named('result_expired', { headers: doNotRetry })
    case 'method_not_allowed': {
      const headers = { Allow: failure.allow.join(', ') }
      return named('method_not_allowed', { text: `Method not allowed (${request})`, headers })
    }
    case 'task_not_cancellable':
      return named(`cancel_${failure.reason}`)
    case 'body_too_large': {
      const what =
        failure.texts === true ? 'texts of the request body exceed' : 'request body exceeds'
      const text = `${what} ${sizeText(failure.limitBytes)}: request body too large`
      return named('body_too_large', { text })
    }
    case 'range_not_satisfiable': {
      const headers = { 'Content-Range': `bytes */${failure.bytes}` }
      return named('range_not_satisfiable', { headers })
    }
    case 'too_many_requests':
    case 'too_many_live_tasks':
      return named('rate_limit_exceeded', {
        text: overLimitText(failure),
        headers: retryAfter(overLimitSeconds(failure)),
      })
    case 'overloaded':
    case 'too_many_waiters':
    case 'too_many_variants':
      return named(failure.tag, { headers: retryAfter(failure.retryAfterSeconds) })
    case 'task_ended':
      return taskFailureReply(failure)
    // All others say the same to every client. One that has no row with a text in the table does not compile.
    default:
      return named(failure.tag)
  }
}

/** A header that tells the official OpenAI clients not to send the request again. */
const doNotRetry = { 'x-should-retry': 'false' }

/**
 * The code of a rejection by moderation, as the clients of each family's routes know it. Records of tasks have
 * `content_policy_violation` for all families.
 */
const moderationCodes: Readonly<Record<Family, string>> = {
  A: 'content_policy_violation',
  B: 'moderation_blocked',
}

/** The answer to a synchronous call whose task failed. */
function taskFailureReply(ended: Extract<HttpFailure, { tag: 'task_ended' }>): ErrorReply {
  const { code, cause, retryAfterMs } = ended.failure
  const text = taskFailureMessages[code]
  if (code === 'rate_limit_exceeded') {
    const headers =
      retryAfterMs === undefined ? {} : retryAfter(Math.max(1, Math.ceil(retryAfterMs / 1000)))
    return named(code, { text, headers })
  }
  if (cause === 'rejected') {
    const isModeration = code === 'content_policy_violation'
    return reply({ status: 400, code: isModeration ? moderationCodes[ended.family] : code, text })
  }
  const publicCode = code === 'upstream_error' ? 'do_request_failed' : code
  return reply({ status: 500, code: publicCode, text })
}

function retryAfter(seconds: number): Readonly<Record<string, string>> {
  return { 'Retry-After': String(seconds) }
}

type Changed = Partial<Pick<ErrorReply, 'param' | 'headers'> & Pick<NamedError, 'text'>>

/** Makes the answer of an error of the table. The text is given for an error that has none there. */
function named(name: FixedErrorName, changed?: Changed): ErrorReply
function named(name: ErrorName, changed: Changed & Pick<NamedError, 'text'>): ErrorReply
function named(name: ErrorName, changed: Changed = {}): ErrorReply {
  return reply({ ...namedError(name), ...changed })
}

/** Makes an answer. Its type follows from the status. No client needs to repeat a request that got a 409. */
function reply({ text: message, ...given }: NamedError & Changed): ErrorReply {
  const { status } = given
  const headers = status === 409 ? doNotRetry : {}
  const common = { message, headers }
  if (status === 429) return { ...common, type: 'rate_limit_error', param: null, ...given }
  return status === 403 || status === 413 || status >= 500
    ? { ...common, type: 'new_api_error', param: '', ...given }
    : { ...common, type: 'invalid_request_error', param: null, ...given }
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
