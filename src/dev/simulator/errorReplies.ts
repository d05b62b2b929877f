import { defined } from '../../domain/defined.ts'
import type { Family } from '../../domain/models/models.ts'
import { errorsA, errorsB, pages, statusNames } from './errorRows.ts'
import type { ErrorFault } from './faults.ts'
import type { Reply } from './reply.ts'
import { htmlReply, jsonReply, retryHeaders } from './reply.ts'

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
  readonly param?: string
  readonly extra?: Readonly<Record<string, unknown>>
  readonly headers?: Readonly<Record<string, string>>
}

/** Makes the error answer to a request that breaks a rule of the vendor. */
export const problemReply: Readonly<Record<Family, (message: string) => Reply>> = {
  A: (message) => writeA({ status: 400, message }),
  B: (message) => writeB({ status: 400, message, code: 'invalid_value' }),
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
function moderationReply(stage: 'input' | 'output'): Reply {
  const details = { moderation_stage: stage, categories: ['violence'] }
  return writeB({ ...partsB('moderation'), extra: { moderation_details: details } })
}

/** Makes the error answer of a vendor whose model refuses to draw. Undefined: the refusal is a 200. */
export const refusalReply: Readonly<Record<Family, (() => Reply) | undefined>> = {
  A: undefined,
  B: () => moderationReply('output'),
}

/**
 * Whether a family has a detail for the wait. In family A it is a Duration of Protocol Buffers, such as `1.5s`.
 */
const hasRetryInfo: Readonly<Record<Family, boolean>> = { A: true, B: false }

/** A fault as the error of a family needs it. */
type AskedError = {
  readonly fault: ErrorFault
  /** The row of the family's table. */
  readonly key: string
  readonly model: string
  readonly headers: Readonly<Record<string, string>>
  /** What the end of the message says of the wait. */
  readonly wait: string
  /** The wait that a detail says. */
  readonly retryDelay: string | undefined
}

const familyError: Readonly<Record<Family, (asked: AskedError) => Reply>> = { A: errorA, B: errorB }

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
  const asked = fault.kind === '429' || fault.kind === '503' ? fault : undefined
  const seconds = asked?.retryAfter ?? 1
  const form = asked?.form ?? (asked?.retryAfter === undefined ? 'none' : 'seconds')
  const isDetail = hasRetryInfo[family] && form === 'retry-info'
  const headers = isDetail ? {} : retryHeaders(form, seconds)
  const key = fault.kind === '403' ? `403 ${fault.about}` : fault.kind
  if (fault.kind === 'status' && fault.form === 'html') {
    return htmlReply(fault.code, `${fault.code}`)
  }
  const page = pages[key] ?? pages[`${family} ${key}`]
  if (page !== undefined) return htmlReply(Number.parseInt(page, 10), page, headers)
  const wait = form === 'text' ? ` Please try again in ${seconds}s.` : ''
  const retryDelay = isDetail ? `${seconds}s` : undefined
  return familyError[family]({ fault, key, model, headers, wait, retryDelay })
}

function errorB({ fault, key, model, headers, wait }: AskedError): Reply {
  if (fault.kind === 'moderation') return moderationReply(fault.stage)
  const parts = { ...partsB(key, model), ...chosen(fault) }
  return writeB({ ...parts, message: parts.message + wait, headers })
}

function errorA({ fault, key, model, headers, wait, retryDelay }: AskedError): Reply {
  const parts = partsA(fault.kind === 'billing' ? `billing ${fault.status ?? 403}` : key, model)
  const retryInfo = retryDelay && { '@type': typeUrl('RetryInfo'), retryDelay }
  const reason = fault.kind === 'status' && fault.reason ? [errorInfo(fault.reason)] : []
  const details = [
    ...parts.details,
    ...reason,
    ...quotaDetails(fault),
    ...(retryInfo ? [retryInfo] : []),
  ]
  const made = { ...parts, ...chosen(fault), details, headers }
  return writeA({ ...made, message: made.message + wait }, fault.array)
}

/** Returns what the fields of the fault say about the error. */
function chosen(fault: ErrorFault): Partial<ErrorParts> {
  if (fault.kind === 'status') {
    const { code: status, reason: code, param } = fault
    return { status, message: `Simulated status ${status}.`, ...defined({ code, param }) }
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

function writeB({ status, message, code, param, extra, headers, ...given }: ErrorParts): Reply {
  const type = given.type ?? (status < 500 ? 'invalid_request_error' : 'server_error')
  return jsonReply(
    status,
    { error: { message, type, param: param ?? null, code, ...extra } },
    headers,
  )
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
