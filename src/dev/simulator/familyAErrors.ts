import { assertNever } from '../../domain/assertNever.ts'
import {
  errorInfo,
  type ErrorPartsA,
  quotaFailure,
  retryInfo,
  writeErrorA,
} from './familyAErrorShape.ts'
import { type ErrorFault, isServerFault, type RefusalFault, type ServerFault } from './faults.ts'
import type { Problem } from './imageOrder.ts'
import { htmlReply, type Reply } from './reply.ts'
import { adviseRetry, adviseRetryIfAsked } from './retryAfter.ts'

const quotaMessage = 'You exceeded your current quota, please check your plan and billing details.'

const badKey: ErrorPartsA = {
  status: 400,
  message: 'API key not valid. Please pass a valid API key.',
  details: [errorInfo('API_KEY_INVALID')],
}

export const badKeyReplyA = (): Reply => writeErrorA(badKey, false)

export function problemReplyA(problem: Problem): Reply {
  return writeErrorA({ status: problem.status, message: problem.message }, false)
}

/** The vendor's answer to a fault of the error groups; `nowMs` dates Retry-After. */
export function errorReplyA(fault: ErrorFault, model: string, nowMs: number): Reply {
  const parts = isServerFault(fault)
    ? describeServerError(fault, nowMs)
    : describeRefusal(fault, model, nowMs)
  return 'body' in parts ? parts : writeErrorA(parts, fault.array ?? false)
}

function describeRefusal(fault: RefusalFault, model: string, nowMs: number): ErrorPartsA | Reply {
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

function describeServerError(fault: ServerFault, nowMs: number): ErrorPartsA | Reply {
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

function billing(status: 400 | 403 | 429): ErrorPartsA {
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

function forbidden(about: 'credential' | 'project' | 'country' | 'html'): ErrorPartsA | Reply {
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
