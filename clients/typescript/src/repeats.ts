const tooManyRequests = 429
const serverErrors = 500
const firstPauseMs = 1_000
const pauseMsMax = 30_000
/** So many clients that were told the same second do not return in the same millisecond. */
const lateness = 0.1

/** Codes of a connection that cannot be made: the address, its certificate or an option of `fetch` is wrong. */
const permanentCode = /^(?:ERR_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|UND_ERR_INVALID_ARG)/

/** Whether the same request may succeed later, by the status and the headers of its answer. */
export function mayAnswerOtherwise(status: number, headers: Headers): boolean {
  const isTemporary = status === tooManyRequests || status >= serverErrors
  return isTemporary && headers.get('x-should-retry') !== 'false'
}

/** Whether the service may have got a request that `fetch` rejected with this code. */
export function mayHaveArrived(code: string): boolean {
  return !permanentCode.test(code)
}

/**
 * How long an answer asks to wait (RFC 9110 section 10.2.3). A date is compared with the answer's own, because the
 * clock here may be wrong.
 */
export function retryAfterMs(headers: Headers): number | undefined {
  const text = headers.get('retry-after') ?? ''
  const ms = /^\d+$/.test(text)
    ? Number(text) * 1_000
    : Date.parse(text) - Date.parse(headers.get('date') ?? '')
  return Number.isNaN(ms) ? undefined : Math.max(0, ms)
}

/**
 * How long to wait before a repeat: what the answer asked for, in full, or a random part of a time that doubles
 * ("full jitter"). `failures` counts from 1.
 */
export function pauseMs(failures: number, askedMs: number | undefined): number {
  if (askedMs !== undefined) return askedMs * (1 + Math.random() * lateness)
  return Math.random() * Math.min(pauseMsMax, firstPauseMs * 2 ** (failures - 1))
}
