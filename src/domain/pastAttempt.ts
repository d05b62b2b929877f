import type { OutcomeClass, OutcomeReason } from './upstreamOutcome.ts'

/** One earlier attempt of the task, closed. Times: epoch milliseconds of the database's clock. */
export type PastAttempt = {
  readonly channel: string
  readonly class: OutcomeClass
  readonly reason: OutcomeReason
  readonly closedAtMs: number
  readonly retryAfterMs?: number
}

/** Refused by the upstream, not by our own blob store before the request was whole. */
export function isUpstreamRefusal(attempt: Pick<PastAttempt, 'class' | 'reason'>): boolean {
  return attempt.class === 'refused' && attempt.reason !== 'inputs_unreadable'
}

export function countOf(past: readonly PastAttempt[], outcome: OutcomeClass): number {
  return past.filter((attempt) => attempt.class === outcome).length
}

/**
 * The unknown outcome that the next call follows up, if any: whatever came after it, paid work may exist
 * over there, so the task stays with that channel and its idempotency key (design 1.7).
 */
export function openChain<Past extends { readonly class: string | null }>(
  past: readonly Past[],
): Past | undefined {
  return past.findLast((attempt) => attempt.class === 'unknown')
}
