import { defined } from '../defined.ts'
import type { TaskFailure } from '../failure.ts'
import type { PastAttempt } from './taskFacts.ts'
import { countOf, isUpstreamRefusal, mayHaveWorked } from './taskFacts.ts'

// How a task fails, by what its attempts met. `nextStep` and `chooseChannel` decide when.

type Facts = { readonly nowMs: number; readonly past: readonly PastAttempt[] }

/** The upstream rejected the request itself. */
export function rejectedFailure(last: PastAttempt, facts: Facts): TaskFailure {
  const code =
    last.reason === 'content_policy'
      ? 'content_policy_violation'
      : last.reason === 'no_image'
        ? 'no_image_generated'
        : 'upstream_invalid_request'
  return { code, cause: 'rejected', workPossible: mayHaveWorked(facts.past) }
}

/** The deadline has passed. If the last attempt was refused, the rate limit is the reason, not slowness. */
export function deadlineFailure(facts: Facts): TaskFailure {
  const last = facts.past.at(-1)
  if (last !== undefined && isUpstreamRefusal(last)) return refusedFailure(facts)
  return { code: 'generation_timeout', cause: 'deadline', workPossible: mayHaveWorked(facts.past) }
}

/** The channels refused. Retry-After is the earliest time at which one of them takes a call again. */
export function refusedFailure(facts: Facts): TaskFailure {
  const leftMs = [...retryAfterLeftMs(facts).values()].filter((ms) => ms > 0)
  return rateLimited(facts, Math.min(...leftMs))
}

/** The shortest wait for a channel is too long for the task. */
export function waitTooLongFailure(
  facts: Facts,
  channel: string | undefined,
  waitMs: number,
): TaskFailure {
  const leftMs = channel === undefined ? undefined : retryAfterLeftMs(facts).get(channel)
  return rateLimited(facts, Math.max(waitMs, leftMs ?? 0))
}

/**
 * No channel is left for this task. A refusal by one channel goes before a used-up quota of another, and
 * that before an operator's fault: a refusal ends by itself, and the client can retry.
 */
export function noChannelFailure(facts: Facts): TaskFailure {
  const latest = latestPerChannel(facts)
  if (latest.some(isUpstreamRefusal)) return refusedFailure(facts)
  if (countOf(latest, 'exhausted') > 0) return { ...refusedFailure(facts), cause: 'exhausted' }
  return {
    code: 'upstream_error',
    cause: 'operator_fault',
    workPossible: mayHaveWorked(facts.past),
  }
}

function latestPerChannel({ past }: Facts): readonly PastAttempt[] {
  return [...new Map(past.map((attempt) => [attempt.channel, attempt])).values()]
}

/** What is left of the Retry-After of each channel's latest attempt; negative when it is over. */
function retryAfterLeftMs(facts: Facts): ReadonlyMap<string, number> {
  return new Map(
    latestPerChannel(facts).flatMap(({ channel, closedAtMs, retryAfterMs }) =>
      retryAfterMs === undefined ? [] : [[channel, closedAtMs + retryAfterMs - facts.nowMs]],
    ),
  )
}

/** `retryAfterMs` of zero or infinity: no channel named a time. */
function rateLimited(facts: Facts, retryAfterMs: number): TaskFailure {
  const known = retryAfterMs > 0 && Number.isFinite(retryAfterMs)
  return {
    code: 'rate_limit_exceeded',
    cause: 'refused',
    workPossible: mayHaveWorked(facts.past),
    ...defined({ retryAfterMs: known ? retryAfterMs : undefined }),
  }
}
