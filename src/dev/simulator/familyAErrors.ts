import { assertNever } from '../../domain/assertNever.ts'
import type { ErrorFault } from './faults.ts'
import type { Problem } from './imageOrder.ts'
import { htmlReply, jsonReply, type Reply } from './reply.ts'
import { adviseRetry } from './retryAfter.ts'

/** google.rpc status names by HTTP status: research/wire.md section 1, Errors. */
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

type ErrorParts = {
  readonly status: number
  readonly message: string
  readonly name?: string
  readonly details?: readonly unknown[]
  readonly headers?: Readonly<Record<string, string>>
}

const typeUrl = (name: string) => `type.googleapis.com/google.rpc.${name}`

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
  return [
    {
      '@type': typeUrl('QuotaFailure'),
      violations: [{ quotaMetric, quotaId, quotaValue: '10' }],
    },
    {
      '@type': typeUrl('Help'),
      links: [
        {
          description: 'Learn more about Gemini API quotas',
          url: 'https://ai.google.dev/gemini-api/docs/rate-limits',
        },
      ],
    },
  ]
}

const quotaMessage = 'You exceeded your current quota, please check your plan and billing details.'

const badKey: ErrorParts = {
  status: 400,
  message: 'API key not valid. Please pass a valid API key.',
  details: [errorInfo('API_KEY_INVALID')],
}

export const badKeyReplyA = (): Reply => write(badKey, false)

export function problemReplyA(problem: Problem): Reply {
  return write({ status: problem.status, message: problem.message }, false)
}

/** The vendor's answer to a fault of the error group; `nowMs` dates Retry-After. */
export function errorReplyA(fault: ErrorFault, model: string, nowMs: number): Reply {
  const parts = describe(fault, model, nowMs)
  return 'body' in parts ? parts : write(parts, fault.array ?? false)
}

function describe(fault: ErrorFault, model: string, nowMs: number): ErrorParts | Reply {
  switch (fault.kind) {
    case '429': {
      const { headers, retryDelay } = adviseRetry(fault, nowMs)
      const info = retryDelay === null ? [] : [{ '@type': typeUrl('RetryInfo'), retryDelay }]
      const quota = quotaFailure('GenerateRequestsPerMinutePerProjectPerModel')
      const details = fault.details === false ? [] : quota
      return { status: 429, message: quotaMessage, headers, details: [...details, ...info] }
    }
    case 'quota':
      return {
        status: 429,
        message: quotaMessage,
        details: quotaFailure(fault.code ?? 'GenerateRequestsPerDayPerProjectPerModel'),
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
    case '404':
      return {
        status: 404,
        message: `models/${model} is not found for API version v1beta, or is not supported for generateContent.`,
      }
    case '500':
      return { status: 500, message: 'An internal error has occurred. Please retry.' }
    case '502':
      return htmlReply(502, '502 Bad Gateway')
    case '503': {
      const { headers, retryDelay } = adviseRetry({ form: 'none', ...fault }, nowMs)
      const details = retryDelay === null ? [] : [{ '@type': typeUrl('RetryInfo'), retryDelay }]
      return {
        status: 503,
        message: 'The model is overloaded. Please try again later.',
        headers,
        details,
      }
    }
    case '503-html':
      return htmlReply(503, '503 Service Temporarily Unavailable', {
        ...adviseRetry({ form: 'none', ...fault }, nowMs).headers,
      })
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

function forbidden(about: 'credential' | 'project' | 'country' | 'html'): ErrorParts | Reply {
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

function write(parts: ErrorParts, inArray: boolean): Reply {
  const { status, message, details = [] } = parts
  const error = {
    code: status,
    message,
    status: parts.name ?? statusNames[status] ?? 'UNKNOWN',
    ...(details.length > 0 ? { details } : {}),
  }
  return jsonReply(status, inArray ? [{ error }] : { error }, parts.headers)
}
