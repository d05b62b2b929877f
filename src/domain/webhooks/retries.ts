const second = 1_000
const minute = 60 * second
const hour = 60 * minute

/** The waits after the first try, the second try and so on. 75 hours in all. */
export const retryWaitsMs: readonly number[] = [
  5 * second,
  5 * minute,
  30 * minute,
  2 * hour,
  5 * hour,
  10 * hour,
  14 * hour,
  20 * hour,
  24 * hour,
]

/** Limit for the wait that a receiver asks for. A longer Retry-After counts as this long. */
export const waitMsMax = 24 * hour
/** The greatest part that jitter adds to a wait, so that many deliveries do not come back at the same moment. */
const jitterMax = 0.1

/** What follows from a try. */
export type Verdict =
  | { readonly kind: 'delivered' }
  /** The receiver answered 410: the webhook is disabled. */
  | { readonly kind: 'gone' }
  | { readonly kind: 'retry'; readonly waitMs: number }
  | { readonly kind: 'given_up' }

/**
 * Returns what follows from a try. `tries` is the number of earlier tries of this round. Retry-After can make a
 * wait longer, but never shorter. `random` is from 0 to 1.
 */
export function verdictOf(
  answer: { readonly httpStatus?: number; readonly retryAfterMs?: number },
  tries: number,
  random: number,
): Verdict {
  const { httpStatus, retryAfterMs = 0 } = answer
  if (httpStatus !== undefined && httpStatus >= 200 && httpStatus < 300) {
    return { kind: 'delivered' }
  }
  if (httpStatus === 410) return { kind: 'gone' }
  const planned = retryWaitsMs[tries]
  if (planned === undefined) return { kind: 'given_up' }
  const jittered = planned * (1 + jitterMax * random)
  return { kind: 'retry', waitMs: Math.max(jittered, retryAfterMs) }
}
