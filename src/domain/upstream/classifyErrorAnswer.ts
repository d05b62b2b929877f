import type { OutcomeClass, OutcomeReason } from './upstreamCall.ts'
import {
  exhaustedText,
  lastingQuota,
  meaningOf,
  moderationText,
  statusOfCode,
} from './vendorWords.ts'

/**
 * The content of a vendor's own error body, in the same form for both families. It is compared with the lists of
 * `vendorWords.ts` and then dropped. Of it, only `code` is ever stored, logged or shown.
 */
export type VendorError = {
  /** The values of `code`, `type`, `status` and of each `reason` in the details, in lower case. */
  readonly codes: readonly string[]
  /** The HTTP status that the body itself names. */
  readonly status?: number
  /** The most exact of the codes, as it was sent, if it may be shown. */
  readonly code?: string
  /** The ids and metrics of the quotas that an error of family A names. Only a 429 is judged by them. */
  readonly quotaIds: readonly string[]
  readonly message: string
  /** The field of the request that the error names. */
  readonly param?: string
}

export type ErrorAnswer = {
  /** A 2xx for an error that a relay sent as a success. */
  readonly status: number
  /** Absent when the body does not have the form of the vendor's errors, such as a page of HTML, or cannot be read. */
  readonly error?: VendorError
  /** Time from the first byte sent until the headers of the answer arrived. */
  readonly elapsedMs: number
  /** The vendor does no work, and charges nothing, when it answers a 5xx itself. */
  readonly errorsAreFree?: boolean
}

export type ErrorVerdict = {
  readonly class: Exclude<OutcomeClass, 'succeeded'>
  readonly reason: OutcomeReason
}

/**
 * Returns the outcome class of an upstream answer that is not a success. Decides by the status and the
 * vendor's error body. An error that came with a 2xx counts as the 4xx that its body names or its code stands for.
 */
export function classifyErrorAnswer(answer: ErrorAnswer): ErrorVerdict {
  const { error } = answer
  const named = answer.status < 300 ? statusIn(error) : undefined
  const status = named ?? answer.status
  return (error && byWords(status, error)) ?? byStatus({ ...answer, status })
}

function statusIn(error: VendorError | undefined): number | undefined {
  const named = [error?.status, ...(error?.codes ?? []).map((code) => statusOfCode.get(code))]
  return named.find((status = 0) => status >= 400 && status < 500)
}

/**
 * Classifies by the vendor's words, because they can say more than the status. Returns `undefined` when they say
 * nothing known, and then the status decides. The message is read for moderation and for a used-up quota alone, neither
 * of which keeps the channel from others, because it may quote a client.
 */
function byWords(status: number, error: VendorError): ErrorVerdict | undefined {
  const meanings = new Set(error.codes.map(meaningOf))
  if (status === 401 || status === 407) return undefined
  if (status >= 500) return meanings.has('moderation') ? moderation : undefined
  if (meanings.has('exhausted')) return exhausted
  if (status === 429) return isUsedUp(error) ? exhausted : undefined
  if (meanings.has('moderation')) return moderation
  if (meanings.has('credential')) return { class: 'operator_fault', reason: 'credential' }
  if (meanings.has('account')) return { class: 'operator_fault', reason: 'forbidden' }
  if (meanings.has('model')) return { class: 'operator_fault', reason: 'model_not_found' }
  return (status === 400 || status === 403) && moderationText.test(error.message)
    ? moderation
    : undefined
}

const exhausted: ErrorVerdict = { class: 'exhausted', reason: 'quota_exhausted' }
const moderation: ErrorVerdict = { class: 'rejected', reason: 'content_policy' }

function isUsedUp(error: VendorError): boolean {
  return error.quotaIds.some((id) => lastingQuota.test(id)) || exhaustedText.test(error.message)
}

/**
 * Classifies by the status. Only the vendor's own error says that it does not accept the request: a page of HTML may come
 * from any proxy between us and the vendor.
 */
function byStatus({ status, error, elapsedMs, errorsAreFree }: ErrorAnswer): ErrorVerdict {
  const isVendors = error !== undefined
  switch (status) {
    case 401:
    case 407:
      return { class: 'operator_fault', reason: 'credential' }
    case 402:
      return exhausted
    case 403:
      // An organization that is not verified (https://github.com/openai-php/client/issues/565), a caller without
      // permission, or an edge in front of the vendor. None of them has a code that says so.
      return { class: 'declined', reason: 'forbidden' }
    case 404:
      return { class: 'operator_fault', reason: 'model_not_found' }
    case 429:
      return { class: 'refused', reason: 'rate_limited' }
    case 431:
      return { class: 'declined', reason: 'too_large' }
    case 413:
      // Without the vendor's words, a proxy on the way to this channel has a limit of its own.
      if (!isVendors) return { class: 'declined', reason: 'too_large' }
      break
    case 451:
      // https://github.com/Wei-Shaw/sub2api: relays pass a moderation on so.
      return isVendors ? moderation : { class: 'declined', reason: 'forbidden' }
    default:
  }
  if (isVendors && rejections.includes(status)) {
    // The name of the model is ours, not the client's, and the account may make other images with it.
    return status === 400 && error.param === 'model'
      ? { class: 'declined', reason: 'model_not_found' }
      : { class: 'rejected', reason: 'invalid_request' }
  }
  if (status < 500) return { class: 'unknown', reason: 'unexpected_status' }
  if (isVendors && status === 503 && elapsedMs <= promptRefusalMsMax) {
    return { class: 'refused', reason: 'overloaded' }
  }
  return {
    class: isVendors && errorsAreFree === true ? 'refused' : 'unknown',
    reason: 'server_error',
  }
}

/** The statuses by which a vendor says that it does not accept a request. */
const rejections: readonly number[] = [400, 413, 415, 422, 424]

/**
 * A 503 counts as refused only when its headers arrive within this time. A later 503 may come from a proxy that
 * stopped waiting for work that the upstream had already started. So the outcome of its call is unknown.
 */
export const promptRefusalMsMax = 10_000
