import { defined } from '../defined.ts'
import type { TaskFailure } from '../failure.ts'
import type { ChannelRefusal } from './chooseChannel.ts'
import type { PastAttempt, TaskFacts } from './taskFacts.ts'
import { countClosed, isUpstreamRefusal, mayHaveWorked } from './taskFacts.ts'

// The failures that follow from a task's attempts. `nextStep` decides when a task fails.

type Facts = Pick<TaskFacts, 'nowMs' | 'past' | 'open'>

/** Returns the failure of a task whose request the upstream rejected. */
export function rejectedFailure(last: PastAttempt, facts: Facts): TaskFailure {
  const code =
    last.reason === 'content_policy'
      ? 'content_policy_violation'
      : last.reason === 'no_image'
        ? 'no_image_generated'
        : 'upstream_invalid_request'
  return { code, cause: 'rejected', workPossible: mayHaveWorked(facts) }
}

/** Returns the failure of a task that makes no further call, although no call was rejected. */
export function unknownFailure(facts: Facts): TaskFailure {
  return { code: 'upstream_error', cause: 'unknown', workPossible: mayHaveWorked(facts) }
}

/**
 * Returns the failure of a task whose deadline has passed. If the last attempt was refused, the rate limit
 * caused the failure, not a slow upstream.
 */
export function deadlineFailure(facts: Facts): TaskFailure {
  const last = facts.past.at(-1)
  if (last !== undefined && isUpstreamRefusal(last)) return refusedFailure(facts)
  return { code: 'generation_timeout', cause: 'deadline', workPossible: mayHaveWorked(facts) }
}

/**
 * Returns the failure of a task whose channels refused. Its Retry-After is the least that is left of the Retry-After
 * of its attempts: 0 when that time has passed, and none when no attempt had one. A used-up quota counts only when no
 * channel refused, because its channel has no cooldown and would refuse again.
 */
export function refusedFailure(facts: Facts): TaskFailure {
  const latest = latestPerChannel(facts)
  const refused = latest.filter(isUpstreamRefusal)
  const left = retryAfterLeftMs(facts.nowMs, refused.length > 0 ? refused : latest)
  const leftMs = [...left.values()]
  return rateLimited(facts, leftMs.length === 0 ? undefined : Math.max(0, Math.min(...leftMs)))
}

/** Returns the failure of a task that would wait too long for a channel, which may have refused. */
export function noWaitFailure(
  facts: Facts,
  { refusal }: { readonly refusal?: ChannelRefusal },
): TaskFailure {
  if (refusal === undefined) return noChannelFailure(facts)
  const left = retryAfterLeftMs(facts.nowMs, latestPerChannel(facts))
  return rateLimited(facts, Math.max(refusal.leftMs, left.get(refusal.channel) ?? 0))
}

/**
 * Returns the failure of a task that has no channel left. Only the latest attempt on each channel counts. If any of
 * them was refused, the failure is a refusal, because a refusal ends by itself and the client can try again. If none
 * was refused but one met a used-up quota, that is the failure. In every other case it is an operator's fault, also when
 * every channel declined.
 */
export function noChannelFailure(facts: Facts): TaskFailure {
  const latest = latestPerChannel(facts)
  if (latest.some(isUpstreamRefusal)) return refusedFailure(facts)
  if (countClosed(latest, 'exhausted') > 0) return { ...refusedFailure(facts), cause: 'exhausted' }
  return {
    code: 'upstream_error',
    cause: 'operator_fault',
    workPossible: mayHaveWorked(facts),
  }
}

function latestPerChannel({ past }: Facts): readonly PastAttempt[] {
  return [...new Map(past.map((attempt) => [attempt.channel, attempt])).values()]
}

/**
 * Returns, by channel, how much of the Retry-After of these attempts is left. Negative when this time has passed.
 */
function retryAfterLeftMs(
  nowMs: number,
  attempts: readonly PastAttempt[],
): ReadonlyMap<string, number> {
  return new Map(
    attempts.flatMap(({ channel, closedAtMs, retryAfterMs }) =>
      retryAfterMs === undefined ? [] : [[channel, closedAtMs + retryAfterMs - nowMs]],
    ),
  )
}

function rateLimited(facts: Facts, retryAfterMs: number | undefined): TaskFailure {
  return {
    code: 'rate_limit_exceeded',
    cause: 'refused',
    workPossible: mayHaveWorked(facts),
    ...defined({ retryAfterMs }),
  }
}
