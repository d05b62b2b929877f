import { assertNever } from '../../../domain/assertNever.ts'
import type { ErrorFault, ForbiddenAbout, RefusalFault, ServerFault } from '../faults.ts'
import { isServerFault } from '../faults.ts'
import type { Problem } from '../imageOrder.ts'
import type { Reply, RetryAdvice } from '../reply.ts'
import { adviseRetry, adviseRetryIfAsked, htmlReply, jsonReply } from '../reply.ts'

type ErrorParts = {
  readonly status: number
  readonly message: string
  readonly type: string
  readonly code: string | null
  readonly param?: string | null
  readonly extra?: Readonly<Record<string, unknown>>
  readonly headers?: Readonly<Record<string, string>>
}

const invalidRequest = 'invalid_request_error'

const badKey: ErrorParts = {
  status: 401,
  message: 'Incorrect API key provided. You can find your API key in your account settings.',
  type: invalidRequest,
  code: 'invalid_api_key',
}

/** Returns the answer to a call without a key. */
export function badKeyReplyB(): Reply {
  return write(badKey)
}

/** Returns the answer of Azure OpenAI to a call without a key. Its errors have only a code and a message. */
export function badSubscriptionReply(): Reply {
  const message =
    'Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an active subscription and use a correct regional API endpoint for your resource.'
  return jsonReply(401, { error: { code: '401', message } })
}

/** Returns the error answer to a request that breaks a rule of the vendor. */
export function problemReplyB(problem: Problem): Reply {
  const { status, message, param = null, code = 'invalid_value' } = problem
  return write({ status, message, type: invalidRequest, code, param })
}

/**
 * Returns the error answer of the vendor's safety system, which stops a request before (`input`) or after
 * (`output`) the model.
 */
export function moderationReply(stage: 'input' | 'output'): Reply {
  return write({
    status: 400,
    message:
      'Your request was rejected by the safety system. If you believe this is an error, contact support.',
    type: 'image_generation_user_error',
    code: 'moderation_blocked',
    extra: { moderation_details: { moderation_stage: stage, categories: ['violence'] } },
  })
}

/** Returns the error answer that a fault asks for. The dates in its headers are counted from `nowMs`. */
export function errorReplyB(fault: ErrorFault, model: string, nowMs: number): Reply {
  return isServerFault(fault) ? serverErrorReply(fault, nowMs) : refusalReply(fault, model, nowMs)
}

function refusalReply(fault: RefusalFault, model: string, nowMs: number): Reply {
  switch (fault.kind) {
    case '429': {
      const { headers } = adviseRetry(headerForm(fault), nowMs)
      const code = fault.code ?? 'rate_limit_exceeded'
      const type = code === 'slow_down' ? 'rate_limit_error' : 'requests'
      const message = `Rate limit reached for ${model} on images per min. Please try again later.`
      return write({ status: 429, message, type, code, headers })
    }
    case 'quota': {
      const code = fault.code ?? 'insufficient_quota'
      const message = 'You exceeded your current quota, please check your plan and billing details.'
      return write({ status: 429, message, type: 'insufficient_quota', code })
    }
    case 'billing': {
      const message = 'Billing hard limit has been reached.'
      return badRequest(message, 'billing_hard_limit_reached', { status: fault.status ?? 400 })
    }
    case 'moderation':
      return moderationReply(fault.stage ?? 'input')
    case '400': {
      const { message = 'Invalid value.', param = null } = fault
      return badRequest(message, 'invalid_value', { param })
    }
    case '401':
    case 'bad-key':
      return badKeyReplyB()
    case '403':
      return forbidden(fault.about ?? 'credential', model)
    case '404': {
      const message = `The model '${model}' does not exist or you do not have access to it.`
      return badRequest(message, 'model_not_found', { status: 404 })
    }
    default:
      return assertNever(fault)
  }
}

function badRequest(message: string, code: string, more: Partial<ErrorParts>): Reply {
  return write({ status: 400, message, type: invalidRequest, code, ...more })
}

function serverErrorReply(fault: ServerFault, nowMs: number): Reply {
  switch (fault.kind) {
    case '500':
      return serverError(500, 'The server had an error while processing your request.')
    case '502':
      return htmlReply(502, '502 Bad Gateway')
    case '503':
      return write({
        status: 503,
        message: 'The server is currently overloaded. Please try again later.',
        type: 'service_unavailable_error',
        code: 'server_is_overloaded',
        headers: adviseRetryIfAsked(headerForm(fault), nowMs).headers,
      })
    case '503-html': {
      const { headers } = adviseRetryIfAsked(headerForm(fault), nowMs)
      return htmlReply(503, '503 Service Temporarily Unavailable', headers)
    }
    case '504':
      return htmlReply(504, '504 Gateway Time-out')
    case 'status':
      return serverError(fault.code, `Simulated status ${fault.code}.`)
    default:
      return assertNever(fault)
  }
}

/**
 * Returns the advice in a form that family B has. Only family A has RetryInfo. Family B sends the same wait
 * in a header.
 */
function headerForm(advice: RetryAdvice): RetryAdvice {
  return advice.form === 'retry-info' ? { ...advice, form: 'seconds' } : advice
}

function serverError(status: number, message: string): Reply {
  return write({
    status,
    message,
    type: status < 500 ? invalidRequest : 'server_error',
    code: null,
  })
}

function forbidden(about: ForbiddenAbout, model: string): Reply {
  switch (about) {
    case 'credential':
      return badRequest('This API key has been disabled.', 'invalid_api_key', { status: 403 })
    case 'project':
      return badRequest(`Project does not have access to model ${model}.`, 'model_not_found', {
        status: 403,
      })
    case 'country':
      return badRequest(
        'Country, region, or territory not supported.',
        'unsupported_country_region_territory',
        { status: 403 },
      )
    case 'html':
      return htmlReply(403, '403 Forbidden')
    default:
      return assertNever(about)
  }
}

function write(parts: ErrorParts): Reply {
  const { status, message, type, code, param = null, extra = {} } = parts
  return jsonReply(status, { error: { message, type, param, code, ...extra } }, parts.headers)
}
