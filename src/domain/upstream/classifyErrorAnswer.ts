import type { OutcomeClass, OutcomeReason } from './upstreamCall.ts'

/**
 * The content of a vendor's own error body, in the same form for both families. The code compares it with the
 * lists below and then drops it. It is never stored, logged or shown.
 */
export type VendorError = {
  /** The values of `code`, `type`, `status` and of each `reason` in the details, in lower case. */
  readonly codes: readonly string[]
  /** The ids and metrics of the quotas that an error of family A names. Only a 429 is judged by them. */
  readonly quotaIds: readonly string[]
  readonly message: string
  /** The field of the request that the error names. */
  readonly param?: string
}

export type ErrorAnswer = {
  readonly status: number
  /** Absent when the body does not have the form of the vendor's errors, or cannot be read. */
  readonly error?: VendorError
  /** Time from the first byte sent until the headers of the answer arrived. */
  readonly elapsedMs: number
}

export type ErrorVerdict = {
  readonly class: Exclude<OutcomeClass, 'succeeded'>
  readonly reason: OutcomeReason
}

/**
 * Returns the outcome class of an upstream answer that is not a success. Decides by the status and the
 * vendor's error body. The known codes come from the error documentation of the vendors and of the gateways
 * in front of them.
 */
export function classifyErrorAnswer(answer: ErrorAnswer): ErrorVerdict {
  const { status, error } = answer
  const hasCodes = status >= 400 && status < 500 && error !== undefined
  return (hasCodes ? byVendorCodes(status, error) : undefined) ?? byStatus(answer)
}

/**
 * Classifies a 4xx by the vendor's codes, quota ids and message, because they can say more than the status. Returns
 * `undefined` when they say nothing known. Then the status decides.
 */
function byVendorCodes(status: number, error: VendorError): ErrorVerdict | undefined {
  if (hasCode(error, exhaustedCodes)) return exhausted
  if (status === 429) return isUsedUp(error) ? exhausted : undefined
  if (hasCode(error, moderationCodes)) return { class: 'rejected', reason: 'content_policy' }
  if (hasCode(error, credentialCodes)) return { class: 'operator_fault', reason: 'credential' }
  if (status !== 400) return undefined
  if (hasCode(error, accountCodes)) return { class: 'operator_fault', reason: 'forbidden' }
  return moderationText.test(error.message)
    ? { class: 'rejected', reason: 'content_policy' }
    : undefined
}

const exhaustedCodes: readonly string[] = [
  'insufficient_quota',
  'credit_balance_exhausted',
  'billing_hard_limit_reached',
  'billing_not_active',
  'spend_limit_exceeded',
  'insufficient_user_quota',
  'pre_consume_token_quota_failed',
]
const moderationCodes: readonly string[] = [
  'moderation_blocked',
  'content_policy_violation',
  'content_filter',
  'contentfilter',
  'prompt_blocked',
]
const credentialCodes: readonly string[] = [
  'api_key_invalid',
  'api_key_expired',
  'invalid_api_key',
  'account_deactivated',
]
/** Codes of a 400 from family A when the vendor does not serve this country or the project has no billing. */
const accountCodes: readonly string[] = ['failed_precondition']
/**
 * Recognizes the message about a prompt that family A blocked before the model saw it. Family A has no code for this
 * case. Parts of the message that quote the prompt are read too: if the prompt itself contains such words, only the
 * task of its own client fails.
 */
const moderationText = /violat\w{1,5} .{0,80}polic|safety (?:system|polic)|content polic/i
const exhausted: ErrorVerdict = { class: 'exhausted', reason: 'quota_exhausted' }

function isUsedUp(error: VendorError): boolean {
  return error.quotaIds.some((id) => lastingQuota.test(id)) || exhaustedText.test(error.message)
}

const lastingQuota = /per_?-?(?:day|week|month)|spend/i
/**
 * Recognizes used-up prepaid credits and a reached spend cap. Family A has no code for them, only a message.
 */
const exhaustedText =
  /credits? (?:are|is|balance is) (?:depleted|exhausted)|spend(?:ing)? (?:cap|limit)/i

function byStatus(answer: ErrorAnswer): ErrorVerdict {
  switch (answer.status) {
    case 400:
      // The name of the model is ours, not the client's, and the account may make other images with it.
      return answer.error?.param === 'model'
        ? { class: 'declined', reason: 'model_not_found' }
        : { class: 'rejected', reason: 'invalid_request' }
    case 413:
    case 431:
      // Without the vendor's words, a proxy on the way to this channel has limits of its own.
      return answer.error === undefined
        ? { class: 'declined', reason: 'too_large' }
        : { class: 'rejected', reason: 'invalid_request' }
    case 401:
      return { class: 'operator_fault', reason: 'credential' }
    case 402:
      return exhausted
    case 403:
      return forbidden(answer.error)
    case 404:
      return { class: 'operator_fault', reason: 'model_not_found' }
    case 429:
      return { class: 'refused', reason: 'rate_limited' }
    case 503:
      return answer.error !== undefined && answer.elapsedMs <= promptRefusalMsMax
        ? { class: 'refused', reason: 'overloaded' }
        : { class: 'unknown', reason: 'server_error' }
    default:
      return {
        class: 'unknown',
        reason: answer.status >= 500 ? 'server_error' : 'unexpected_status',
      }
  }
}

/**
 * A 503 counts as refused only when its headers arrive within this time. A later 503 may come from a proxy that
 * stopped waiting for work that the upstream had already started. So the outcome of its call is unknown.
 */
export const promptRefusalMsMax = 10_000

/**
 * Classifies a 403. It is the operator's fault only when the vendor's code or reason names the credential, the project or
 * the region: a fault keeps the channel from everybody. A message is not read for that, because it may quote a client.
 * Moderation ends its task. Any other 403, such as the page of an edge in front of the vendor, says only that this
 * channel does not take the request: an organization that is not verified has neither code nor reason
 * (https://github.com/openai-php/client/issues/565).
 */
function forbidden(error: VendorError | undefined): ErrorVerdict {
  const declined = { class: 'declined', reason: 'forbidden' } as const
  if (error === undefined) return declined
  if (hasCode(error, regionCodes) || error.codes.some((code) => credentialCodePart.test(code))) {
    return { class: 'operator_fault', reason: 'forbidden' }
  }
  // The account may not use this model.
  if (error.codes.includes('model_not_found')) {
    return { class: 'operator_fault', reason: 'model_not_found' }
  }
  return moderationText.test(error.message)
    ? { class: 'rejected', reason: 'content_policy' }
    : declined
}

/**
 * Codes of a vendor that does not serve the country of this server. Every other request would fail in the
 * same way.
 */
const regionCodes: readonly string[] = ['unsupported_country_region_territory']
const credentialCodePart =
  /(?:^|_)(?:api_key|access_token|iam_permission|project|consumer|billing|service_disabled)/

function hasCode(error: VendorError, codes: readonly string[]): boolean {
  return error.codes.some((code) => codes.includes(code))
}
