import type { OutcomeClass, OutcomeReason } from './upstreamCall.ts'

/**
 * What a vendor says in its own error body, in both families' shapes. Matched against the lists below
 * and dropped: none of it is stored, logged or shown.
 */
export type VendorError = {
  /** `code`, `type`, `status` and the `reason` of details, in lower case. */
  readonly words: readonly string[]
  /** Names of the quotas that a 429 of family A says were hit. */
  readonly quotaIds: readonly string[]
  readonly message: string
}

export type ErrorAnswer = {
  readonly status: number
  /** Absent: the body was not the vendor's own error envelope. */
  readonly error?: VendorError
  /** From the first byte sent to the answer's headers. */
  readonly elapsedMs: number
}

export type ErrorVerdict = {
  readonly class: Exclude<OutcomeClass, 'succeeded'>
  readonly reason: OutcomeReason
}

const exhausted: ErrorVerdict = { class: 'exhausted', reason: 'quota_exhausted' }

/** A 503 later than this may come from a front that gave up on work already begun: design 1.7. */
export const promptRefusalMsMax = 10_000

const exhaustedWords: readonly string[] = [
  'insufficient_quota',
  'credit_balance_exhausted',
  'billing_hard_limit_reached',
  'billing_not_active',
  'spend_limit_exceeded',
  'insufficient_user_quota',
  'pre_consume_token_quota_failed',
]
const moderationWords: readonly string[] = [
  'moderation_blocked',
  'content_policy_violation',
  'content_filter',
  'prompt_blocked',
]
const credentialWords: readonly string[] = [
  'api_key_invalid',
  'api_key_expired',
  'invalid_api_key',
  'account_deactivated',
]
/** Never a matter of one request: the operator's egress stands where the vendor does not serve. */
const placeWords: readonly string[] = ['unsupported_country_region_territory']
const credentialText =
  /\b(?:api[ _-]?keys?|credentials?|access tokens?|service accounts?|projects?|organi[sz]ations?|consumer|unregistered callers?|billing)\b/i
const credentialWordPart =
  /(?:^|_)(?:api_key|access_token|project|consumer|billing|service_disabled)/
const lastingQuota = /per_?-?(?:day|week|month)|spend/i
/** Family A has no word for prepaid credits or a spend cap that is used up; the sentence says it. */
const exhaustedText =
  /credits? (?:are|is|balance is) (?:depleted|exhausted)|spend(?:ing)? (?:cap|limit)/i
/** Nor for a prompt refused before the model saw it. */
const moderationText = /violat\w{1,5} .{0,80}polic|safety (?:system|polic)|content polic/i
/** Family A's 400 for a place it does not serve and for a project without billing, never for a request. */
const accountWords: readonly string[] = ['failed_precondition']

/** Design 1.7 for every answer but a 200: status and vendor body → class. Vendor words: research wire.md. */
export function classifyErrorAnswer(answer: ErrorAnswer): ErrorVerdict {
  const { status, error } = answer
  const byWords = status >= 400 && status < 500 && error !== undefined
  return (byWords ? saidByVendor(status, error) : undefined) ?? byStatus(answer)
}

/** Where the vendor's words say more than the status of a 4xx. */
function saidByVendor(status: number, error: VendorError): ErrorVerdict | undefined {
  if (says(error, exhaustedWords)) return exhausted
  if (status === 429) return isUsedUp(error) ? exhausted : undefined
  if (says(error, moderationWords)) return { class: 'rejected', reason: 'content_policy' }
  if (says(error, credentialWords)) return { class: 'operator_fault', reason: 'credential' }
  if (status !== 400) return undefined
  if (says(error, accountWords)) return { class: 'operator_fault', reason: 'forbidden' }
  return moderationText.test(error.message)
    ? { class: 'rejected', reason: 'content_policy' }
    : undefined
}

function isUsedUp(error: VendorError): boolean {
  return error.quotaIds.some((id) => lastingQuota.test(id)) || exhaustedText.test(error.message)
}

function byStatus(answer: ErrorAnswer): ErrorVerdict {
  switch (answer.status) {
    case 400:
    case 413:
      return { class: 'rejected', reason: 'invalid_request' }
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
 * A 403 pauses a channel only when it speaks of the operator's account: one about the request (a policy)
 * must not let a client stop the channel for all others. Without the vendor's envelope it may come from
 * anything on the way.
 */
function forbidden(error: VendorError | undefined): ErrorVerdict {
  if (error === undefined) return { class: 'unknown', reason: 'forbidden' }
  const ofTheOperator =
    says(error, placeWords) ||
    credentialText.test(error.message) ||
    error.words.some((word) => credentialWordPart.test(word))
  return ofTheOperator
    ? { class: 'operator_fault', reason: 'forbidden' }
    : { class: 'rejected', reason: 'forbidden' }
}

function says(error: VendorError, words: readonly string[]): boolean {
  return error.words.some((word) => words.includes(word))
}
