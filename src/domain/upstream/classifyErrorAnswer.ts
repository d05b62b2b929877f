import type { OutcomeClass, OutcomeReason } from './upstreamCall.ts'

/**
 * The content of a vendor's own error body, in the form of either family. It is compared with the lists
 * below and then dropped: it is not stored, logged or shown.
 */
export type VendorError = {
  /** `code`, `type`, `status` and each `reason` of the details, in lower case. */
  readonly codes: readonly string[]
  /** Family A: the quotas that a 429 names. */
  readonly quotaIds: readonly string[]
  readonly message: string
}

export type ErrorAnswer = {
  readonly status: number
  /** Absent: the body does not have the form of the vendor's errors. */
  readonly error?: VendorError
  /** From the first byte sent to the answer's headers. */
  readonly elapsedMs: number
}

export type ErrorVerdict = {
  readonly class: Exclude<OutcomeClass, 'succeeded'>
  readonly reason: OutcomeReason
}

/**
 * The outcome class of an upstream answer that is not a success, from its status and the vendor's error
 * body. The codes are those of the vendors' error documentation, and of gateways in front of them.
 */
export function classifyErrorAnswer(answer: ErrorAnswer): ErrorVerdict {
  const { status, error } = answer
  const hasCodes = status >= 400 && status < 500 && error !== undefined
  return (hasCodes ? byVendorCodes(status, error) : undefined) ?? byStatus(answer)
}

/** What the vendor's codes say, when they are more exact than the status of a 4xx. */
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
  'prompt_blocked',
]
const credentialCodes: readonly string[] = [
  'api_key_invalid',
  'api_key_expired',
  'invalid_api_key',
  'account_deactivated',
]
/** Family A's 400 for a country it does not serve and a project without billing. */
const accountCodes: readonly string[] = ['failed_precondition']
/**
 * Family A has no code for a prompt that was refused before the model saw it. Read from the whole message:
 * if the words are the client's own, they can only reject the client's own task.
 */
const moderationText = /violat\w{1,5} .{0,80}polic|safety (?:system|polic)|content polic/i
const exhausted: ErrorVerdict = { class: 'exhausted', reason: 'quota_exhausted' }

function isUsedUp(error: VendorError): boolean {
  return (
    error.quotaIds.some((id) => lastingQuota.test(id)) ||
    exhaustedText.test(vendorText(error.message))
  )
}

const lastingQuota = /per_?-?(?:day|week|month)|spend/i
/** Family A has no code for used-up prepaid credits or a spend cap; only the message says so. */
const exhaustedText =
  /credits? (?:are|is|balance is) (?:depleted|exhausted)|spend(?:ing)? (?:cap|limit)/i

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

/** A later 503 may come from a proxy that stopped waiting for work that was already started. */
export const promptRefusalMsMax = 10_000

/**
 * A 403 counts as the operator's fault only when it names the operator's account. A 403 about the request
 * (a policy) must not pause the channel, or one client could stop it for all others. So words about content
 * count before words about the account. Without the vendor's form of errors a 403 can come from anything
 * between us and the vendor.
 */
function forbidden(error: VendorError | undefined): ErrorVerdict {
  if (error === undefined) return { class: 'unknown', reason: 'forbidden' }
  const fault: ErrorVerdict = { class: 'operator_fault', reason: 'forbidden' }
  const codeNamesAccount =
    hasCode(error, regionCodes) || error.codes.some((code) => credentialCodePart.test(code))
  if (codeNamesAccount) return fault
  if (moderationText.test(error.message)) return { class: 'rejected', reason: 'content_policy' }
  return credentialText.test(vendorText(error.message))
    ? fault
    : { class: 'rejected', reason: 'forbidden' }
}

/** The vendor does not serve the country of this server. No other request would do better. */
const regionCodes: readonly string[] = ['unsupported_country_region_territory']
const credentialText =
  /\b(?:api[ _-]?keys?|credentials?|access tokens?|service accounts?|projects?|organi[sz]ations?|consumer|unregistered callers?|billing)\b/i
const credentialCodePart =
  /(?:^|_)(?:api_key|access_token|project|consumer|billing|service_disabled)/

/** An apostrophe inside or at the end of a word does not open a quotation. */
const openingMark = /(?<!\w)['"`‘“«]/
const closingMark = /['"`’”»](?!\w)/

/**
 * The message without what it quotes, because a quotation can be the client's prompt. A prompt may contain
 * quotation marks too, so everything from the first mark to the last is left out. A quotation without an
 * end, which the vendor has cut off, is left out to the end of the message.
 */
function vendorText(message: string): string {
  const from = message.search(openingMark)
  if (from === -1) return message
  const [, ...pieces] = message.slice(from + 1).split(closingMark)
  return `${message.slice(0, from)} ${pieces.at(-1) ?? ''}`
}

function hasCode(error: VendorError, codes: readonly string[]): boolean {
  return error.codes.some((code) => codes.includes(code))
}
