import { assertNever } from '../../../domain/assertNever.ts'
import type { ErrorFault, ForbiddenAbout, RefusalFault, ServerFault } from '../faults.ts'
import { isServerFault } from '../faults.ts'
import type { Problem } from '../imageOrder.ts'
import type { Reply } from '../reply.ts'
import { adviseRetry, adviseRetryIfAsked, htmlReply, jsonReply } from '../reply.ts'

/**
 * An error body: google.rpc.Status as JSON. When `name` is absent, it is the usual status name of the HTTP
 * status.
 */
type ErrorParts = {
  readonly status: number
  readonly message: string
  readonly name?: string
  readonly details?: readonly unknown[]
  readonly headers?: Readonly<Record<string, string>>
}

/** The google.rpc status names by HTTP status. */
const statusNames: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  409: 'ABORTED',
  413: 'INVALID_ARGUMENT',
  429: 'RESOURCE_EXHAUSTED',
  499: 'CANCELLED',
  500: 'INTERNAL',
  501: 'UNIMPLEMENTED',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
}

function write(parts: ErrorParts, inArray = false): Reply {
  const { status, message, details = [] } = parts
  const error = {
    code: status,
    message,
    status: parts.name ?? statusNames[status] ?? 'UNKNOWN',
    ...(details.length > 0 ? { details } : {}),
  }
  return jsonReply(status, inArray ? [{ error }] : { error }, parts.headers)
}

const quotaMessage = 'You exceeded your current quota, please check your plan and billing details.'

const badKey: ErrorParts = {
  status: 400,
  message: 'API key not valid. Please pass a valid API key.',
  details: [errorInfo('API_KEY_INVALID')],
}

/** Returns the answer to a call without a key. */
export function badKeyReplyA(): Reply {
  return write(badKey)
}

/** Returns the answer of Vertex AI to a call without an access token. */
export function badTokenReply(): Reply {
  return write({
    status: 401,
    message:
      'Request is missing required authentication credential. Expected OAuth 2 access token, login cookie or other valid authentication credential.',
    details: [errorInfo('CREDENTIALS_MISSING')],
  })
}

/** Returns the error answer to a request that breaks a rule of the vendor. */
export function problemReplyA({ status, message }: Problem): Reply {
  return write({ status, message })
}

/** Returns the error answer that a fault asks for. The dates in its headers are counted from `nowMs`. */
export function errorReplyA(fault: ErrorFault, model: string, nowMs: number): Reply {
  const parts = isServerFault(fault)
    ? describeServerError(fault, nowMs)
    : describeRefusal(fault, model, nowMs)
  return 'body' in parts ? parts : write(parts, fault.array)
}

function describeRefusal(fault: RefusalFault, model: string, nowMs: number): ErrorParts | Reply {
  switch (fault.kind) {
    case '429': {
      const { headers, retryDelay } = adviseRetry(fault, nowMs)
      const quota = quotaFailure('GenerateRequestsPerMinutePerProjectPerModel')
      const details = [...(fault.details === false ? [] : quota), ...retryInfo(retryDelay)]
      return { status: 429, message: quotaMessage, headers, details }
    }
    case 'quota': {
      const details = quotaFailure(fault.code ?? 'GenerateRequestsPerDayPerProjectPerModel')
      return { status: 429, message: quotaMessage, details }
    }
    case 'billing':
      return billing(fault.status ?? 403)
    case 'moderation':
      return { status: 400, message: 'The prompt violates the usage policies.' }
    case '400':
      return { status: 400, message: fault.message ?? 'Request contains an invalid argument.' }
    case '401':
      return {
        status: 401,
        message: 'Request had invalid authentication credentials.',
        details: [errorInfo('ACCESS_TOKEN_TYPE_UNSUPPORTED')],
      }
    case 'bad-key':
      return badKey
    case '403':
      return forbidden(fault.about ?? 'credential')
    case '404': {
      const message = `models/${model} is not found for API version v1beta, or is not supported for generateContent.`
      return { status: 404, message }
    }
    default:
      return assertNever(fault)
  }
}

function describeServerError(fault: ServerFault, nowMs: number): ErrorParts | Reply {
  switch (fault.kind) {
    case '500':
      return { status: 500, message: 'An internal error has occurred. Please retry.' }
    case '502':
      return htmlReply(502, '502 Bad Gateway')
    case '503': {
      const { headers, retryDelay } = adviseRetryIfAsked(fault, nowMs)
      const message = 'The model is overloaded. Please try again later.'
      return { status: 503, message, headers, details: retryInfo(retryDelay) }
    }
    case '503-html': {
      const { headers } = adviseRetryIfAsked(fault, nowMs)
      return htmlReply(503, '503 Service Temporarily Unavailable', headers)
    }
    case '504':
      return { status: 504, message: 'Deadline expired before operation could complete.' }
    case 'status':
      return { status: fault.code, message: `Simulated status ${fault.code}.` }
    default:
      return assertNever(fault)
  }
}

function billing(status: 400 | 403 | 429): ErrorParts {
  switch (status) {
    case 400:
      return {
        status,
        name: 'FAILED_PRECONDITION',
        message: 'The free tier is not available. Please enable billing on your project.',
      }
    case 403:
      return {
        status,
        message: 'This API method requires billing to be enabled.',
        details: [errorInfo('BILLING_DISABLED')],
      }
    case 429:
      return { status, message: 'Your prepayment credits are depleted. Please go to billing.' }
    default:
      return assertNever(status)
  }
}

function forbidden(about: ForbiddenAbout): ErrorParts | Reply {
  switch (about) {
    case 'credential':
      return {
        status: 403,
        message: 'Your API key was reported as leaked. Please use another API key.',
        details: [errorInfo('API_KEY_SERVICE_BLOCKED')],
      }
    case 'project':
      return {
        status: 403,
        message: 'Your project has been denied access. Please contact support.',
        details: [errorInfo('CONSUMER_SUSPENDED')],
      }
    case 'country':
      return {
        status: 400,
        name: 'FAILED_PRECONDITION',
        message: 'User location is not supported for the API use.',
      }
    case 'html':
      return htmlReply(403, '403 Forbidden')
    default:
      return assertNever(about)
  }
}

function typeUrl(name: string): string {
  return `type.googleapis.com/google.rpc.${name}`
}

function errorInfo(reason: string): unknown {
  return {
    '@type': typeUrl('ErrorInfo'),
    reason,
    domain: 'googleapis.com',
    metadata: { service: 'generativelanguage.googleapis.com' },
  }
}

function quotaFailure(quotaId: string): readonly unknown[] {
  const quotaMetric = 'generativelanguage.googleapis.com/generate_content_requests_per_model'
  const violations = [{ quotaMetric, quotaId, quotaValue: '10' }]
  const description = 'Learn more about Gemini API quotas'
  const url = 'https://ai.google.dev/gemini-api/docs/rate-limits'
  return [
    { '@type': typeUrl('QuotaFailure'), violations },
    { '@type': typeUrl('Help'), links: [{ description, url }] },
  ]
}

function retryInfo(retryDelay: string | undefined): readonly unknown[] {
  return retryDelay === undefined ? [] : [{ '@type': typeUrl('RetryInfo'), retryDelay }]
}
