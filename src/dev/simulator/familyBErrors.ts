import { assertNever } from '../../domain/assertNever.ts'
import type { ErrorFault } from './faults.ts'
import type { Problem } from './imageOrder.ts'
import { htmlReply, jsonReply, type Reply } from './reply.ts'
import { adviseRetry } from './retryAfter.ts'

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

export const badKeyReplyB = (): Reply => write(badKey)

export function problemReplyB(problem: Problem): Reply {
  const { status, message, param = null, code = 'invalid_value' } = problem
  return write({ status, message, type: invalidRequest, code, param })
}

/** Every kind that means "the model refused" in family A reads as moderation here. */
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

/** The vendor's answer to a fault of the error group: research/wire.md section 2, Errors. */
export function errorReplyB(fault: ErrorFault, model: string, nowMs: number): Reply {
  switch (fault.kind) {
    case '429': {
      const { headers } = adviseRetry(headerForm(fault), nowMs)
      const code = fault.code ?? 'rate_limit_exceeded'
      const type = code === 'slow_down' ? 'rate_limit_error' : 'requests'
      const message = `Rate limit reached for ${model} on images per min. Please try again later.`
      return write({ status: 429, message, type, code, headers })
    }
    case 'quota':
      return write({
        status: 429,
        message: 'You exceeded your current quota, please check your plan and billing details.',
        type: 'insufficient_quota',
        code: fault.code ?? 'insufficient_quota',
      })
    case 'billing':
      return write({
        status: fault.status ?? 400,
        message: 'Billing hard limit has been reached.',
        type: invalidRequest,
        code: 'billing_hard_limit_reached',
      })
    case 'moderation':
      return moderationReply(fault.stage ?? 'input')
    case '400':
      return write({
        status: 400,
        message: fault.message ?? 'Invalid value.',
        type: invalidRequest,
        code: 'invalid_value',
        param: fault.param ?? null,
      })
    case '401':
    case 'bad-key':
      return badKeyReplyB()
    case '403':
      return forbidden(fault.about ?? 'credential', model)
    case '404':
      return write({
        status: 404,
        message: `The model '${model}' does not exist or you do not have access to it.`,
        type: invalidRequest,
        code: 'model_not_found',
      })
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
        headers: adviseRetry(headerForm({ form: 'none', ...fault }), nowMs).headers,
      })
    case '503-html':
      return htmlReply(503, '503 Service Temporarily Unavailable', {
        ...adviseRetry(headerForm({ form: 'none', ...fault }), nowMs).headers,
      })
    case '504':
      return htmlReply(504, '504 Gateway Time-out')
    case 'status':
      return serverError(fault.code, `Simulated status ${fault.code}.`)
    default:
      return assertNever(fault)
  }
}

/** RetryInfo is family A's; here the same wait goes into the header. */
function headerForm<Advice extends { form?: string | undefined }>(advice: Advice): Advice {
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

function forbidden(about: 'credential' | 'project' | 'country' | 'html', model: string): Reply {
  const forbiddenWith = (message: string, code: string) =>
    write({ status: 403, message, type: invalidRequest, code })
  switch (about) {
    case 'credential':
      return forbiddenWith('This API key has been disabled.', 'invalid_api_key')
    case 'project':
      return forbiddenWith(`Project does not have access to model ${model}.`, 'model_not_found')
    case 'country':
      return forbiddenWith(
        'Country, region, or territory not supported.',
        'unsupported_country_region_territory',
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
