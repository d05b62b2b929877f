import { defined } from '../../domain/defined.ts'
import type { Family } from '../../domain/models/models.ts'
import type { ErrorFault } from './faults.ts'
import type { Reply } from './reply.ts'
import { htmlReply, jsonReply, retryHeaders } from './reply.ts'

// The errors by kind of fault and, where they differ by a field, its value. `{model}` stands for the model.

/** The titles of the pages of a proxy in front of the vendor. */
const pages: Readonly<Record<string, string>> = {
  '403 html': '403 Forbidden',
  '502': '502 Bad Gateway',
  html: '200 Welcome to nginx!',
  '503-html': '503 Service Temporarily Unavailable',
  'B 504': '504 Gateway Time-out',
}

const quotaMessage = 'You exceeded your current quota, please check your plan and billing details.'

/** Family A: the status, the reason of an ErrorInfo where there is one, and the message. */
const errorsA: Readonly<Record<string, string>> = {
  '429': `429: ${quotaMessage}`,
  quota: `429: ${quotaMessage}`,
  'billing 400': '400: The free tier is not available. Please enable billing on your project.',
  'billing 403': '403 BILLING_DISABLED: This API method requires billing to be enabled.',
  'billing 429': '429: Your prepayment credits are depleted. Please go to billing.',
  '400': '400: Request contains an invalid argument.',
  '401': '401 ACCESS_TOKEN_TYPE_UNSUPPORTED: Request had invalid authentication credentials.',
  'no-token':
    '401 CREDENTIALS_MISSING: Request is missing required authentication credential. Expected OAuth 2 access token, login cookie or other valid authentication credential.',
  'bad-key': '400 API_KEY_INVALID: API key not valid. Please pass a valid API key.',
  '403 credential':
    '403 API_KEY_SERVICE_BLOCKED: Your API key was reported as leaked. Please use another API key.',
  '403 project':
    '403 CONSUMER_SUSPENDED: Your project has been denied access. Please contact support.',
  '403 country': '400: User location is not supported for the API use.',
  '404':
    '404: models/{model} is not found for API version v1beta, or is not supported for generateContent.',
  moderation: '400: The prompt violates the usage policies.',
  '500': '500: An internal error has occurred. Please retry.',
  '503': '503: The model is overloaded. Please try again later.',
  '504': '504: Deadline expired before operation could complete.',
}

/** The google.rpc status names by HTTP status, and by kind of fault where another name is usual. */
const statusNames: Readonly<Record<string, string>> = {
  'billing 400': 'FAILED_PRECONDITION',
  '403 country': 'FAILED_PRECONDITION',
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

const badKeyB =
  '401 invalid_api_key: Incorrect API key provided. You can find your API key in your account settings.'

/**
 * Family B: the status, the code where there is one, the type where it is not `invalid_request_error` or `server_error`
 * by the status, and the message.
 */
const errorsB: Readonly<Record<string, string>> = {
  '429':
    '429 rate_limit_exceeded requests: Rate limit reached for {model} on images per min. Please try again later.',
  quota: `429 insufficient_quota insufficient_quota: ${quotaMessage}`,
  billing: '400 billing_hard_limit_reached: Billing hard limit has been reached.',
  '400': '400 invalid_value: Invalid value.',
  '401': badKeyB,
  'bad-key': badKeyB,
  '403 credential': '403 invalid_api_key: This API key has been disabled.',
  '403 project': '403 model_not_found: Project does not have access to model {model}.',
  '403 country':
    '403 unsupported_country_region_territory: Country, region, or territory not supported.',
  '404': "404 model_not_found: The model '{model}' does not exist or you do not have access to it.",
  moderation:
    '400 moderation_blocked image_generation_user_error: Your request was rejected by the safety system. If you believe this is an error, contact support.',
  '500': '500: The server had an error while processing your request.',
  '503':
    '503 server_is_overloaded service_unavailable_error: The server is currently overloaded. Please try again later.',
}

/** An error before it is written in the format of its vendor. */
type ErrorParts = {
  readonly status: number
  readonly message: string
  /** Family A: the name of the status. */
  readonly name?: string | undefined
  readonly details?: readonly unknown[]
  /** Family B. */
  readonly type?: string | undefined
  readonly code?: string | null
  readonly extra?: Readonly<Record<string, unknown>>
  readonly headers?: Readonly<Record<string, string>>
}

/** Returns the error answer to a request that breaks a rule of the vendor. */
export function problemReply(family: Family, message: string): Reply {
  return family === 'A'
    ? writeA({ status: 400, message })
    : writeB({ status: 400, message, code: 'invalid_value' })
}

/** Returns the answer of a vendor to a call without a credential. */
export function badKeyReply(vendor: 'gemini' | 'vertex' | 'openai' | 'azure' | 'relay'): Reply {
  if (vendor === 'openai' || vendor === 'relay') return writeB(partsB('bad-key'))
  if (vendor !== 'azure') return writeA(partsA(vendor === 'gemini' ? 'bad-key' : 'no-token'))
  // The errors of Azure have only a code and a message.
  const message =
    'Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an active subscription and use a correct regional API endpoint for your resource.'
  return jsonReply(401, { error: { code: '401', message } })
}

/** Returns the answer of family B's safety system, which stops a request before or after the model. */
export function moderationReply(stage: 'input' | 'output'): Reply {
  const details = { moderation_stage: stage, categories: ['violence'] }
  return writeB({ ...partsB('moderation'), extra: { moderation_details: details } })
}

/** Returns the error answer that a fault asks for. `location` is where a redirect leads. */
export function errorReply(
  family: Family,
  fault: ErrorFault,
  model: string,
  location: string,
): Reply {
  if (fault.kind === 'empty') return { ...jsonReply(200, ''), body: '' }
  if (fault.kind === 'in-200') {
    const parts = { status: 400, message: 'The request failed.', type: 'upstream_error' }
    return { ...writeB({ ...parts, code: fault.code }), status: 200 }
  }
  if (fault.kind === 'redirect') return htmlReply(fault.status, 'Found', { location })
  if (family === 'B' && fault.kind === 'moderation') return moderationReply(fault.stage)
  const asked = fault.kind === '429' || fault.kind === '503' ? fault : undefined
  const seconds = asked?.retryAfter ?? 1
  const form = asked?.form ?? (asked?.retryAfter === undefined ? 'none' : 'seconds')
  // Family A has a detail for the wait, which is a Duration of Protocol Buffers, such as `1.5s`. Family B has none.
  const isDetail = family === 'A' && form === 'retry-info'
  const headers = isDetail ? {} : retryHeaders(form, seconds)
  const key = fault.kind === '403' ? `403 ${fault.about}` : fault.kind
  const page = pages[key] ?? pages[`${family} ${key}`]
  if (page !== undefined) return htmlReply(Number.parseInt(page, 10), page, headers)
  if (family === 'B') return writeB({ ...partsB(key, model), ...chosen(fault), headers })
  const parts = partsA(fault.kind === 'billing' ? `billing ${fault.status ?? 403}` : key, model)
  const retryInfo = { '@type': typeUrl('RetryInfo'), retryDelay: `${seconds}s` }
  const details = [...parts.details, ...quotaDetails(fault), ...(isDetail ? [retryInfo] : [])]
  return writeA({ ...parts, ...chosen(fault), details, headers }, fault.array)
}

/** Returns what the fields of the fault say about the error. */
function chosen(fault: ErrorFault): Partial<ErrorParts> {
  if (fault.kind === 'status') {
    return { status: fault.code, message: `Simulated status ${fault.code}.` }
  }
  if (fault.kind === '400') return defined({ message: fault.message })
  if (fault.kind === 'billing') return defined({ status: fault.status })
  if (fault.kind !== '429' && fault.kind !== 'quota') return {}
  const type = fault.code === 'slow_down' ? 'rate_limit_error' : undefined
  return defined({ code: fault.code, type: fault.kind === '429' ? type : undefined })
}

/** Reads a row of a table. A fault of the kind `status` has none and chooses all itself. */
function readRow(row: string | undefined, model: string) {
  const [, status, word, type, message = ''] =
    /^(\d+)(?: (\w+))?(?: (\w+))?: (.*)$/.exec(row ?? '') ?? []
  return { status: Number(status), word, type, message: message.replace('{model}', () => model) }
}

function partsA(key: string, model = '') {
  const { status, word, message } = readRow(errorsA[key], model)
  const details = word === undefined ? [] : [errorInfo(word)]
  return { status, message, name: statusNames[key], details }
}

function partsB(key: string, model = '') {
  const { word, ...row } = readRow(errorsB[key], model)
  return { ...row, code: word ?? null }
}

/** Writes google.rpc.Status as JSON. */
function writeA(
  { status, message, name, details = [], headers }: ErrorParts,
  inArray = false,
): Reply {
  const error = {
    code: status,
    message,
    status: name ?? statusNames[status] ?? 'UNKNOWN',
    ...(details.length > 0 ? { details } : {}),
  }
  return jsonReply(status, inArray ? [{ error }] : { error }, headers)
}

function writeB({ status, message, code, extra, headers, ...given }: ErrorParts): Reply {
  const type = given.type ?? (status < 500 ? 'invalid_request_error' : 'server_error')
  return jsonReply(status, { error: { message, type, param: null, code, ...extra } }, headers)
}

function typeUrl(name: string): string {
  return `type.googleapis.com/google.rpc.${name}`
}

function errorInfo(reason: string): unknown {
  const metadata = { service: 'generativelanguage.googleapis.com' }
  return { '@type': typeUrl('ErrorInfo'), reason, domain: 'googleapis.com', metadata }
}

/** Returns the details that say which quota is used up. */
function quotaDetails(fault: ErrorFault): readonly unknown[] {
  if (fault.kind !== 'quota' && !(fault.kind === '429' && fault.details)) return []
  const quotaMetric = 'generativelanguage.googleapis.com/generate_content_requests_per_model'
  const usual = `GenerateRequestsPer${fault.kind === 'quota' ? 'Day' : 'Minute'}PerProjectPerModel`
  const quotaId = fault.kind === 'quota' ? (fault.code ?? usual) : usual
  const violations = [{ quotaMetric, quotaId, quotaValue: '10' }]
  const description = 'Learn more about Gemini API quotas'
  const url = 'https://ai.google.dev/gemini-api/docs/rate-limits'
  return [
    { '@type': typeUrl('QuotaFailure'), violations },
    { '@type': typeUrl('Help'), links: [{ description, url }] },
  ]
}
