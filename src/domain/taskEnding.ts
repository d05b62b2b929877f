import type { PastAttempt } from './pastAttempt.ts'
import { countOf, isUpstreamRefusal } from './pastAttempt.ts'
import type { TaskFailure } from './taskFailure.ts'

type Facts = { readonly nowMs: number; readonly past: readonly PastAttempt[] }

function mayHaveWorked({ past }: Facts): boolean {
  return countOf(past, 'unknown') > 0
}

export function rejection(last: PastAttempt, facts: Facts): TaskFailure {
  const code =
    last.reason === 'content_policy'
      ? 'content_policy_violation'
      : last.reason === 'no_image'
        ? 'no_image_generated'
        : 'upstream_invalid_request'
  return { code, cause: 'rejected', workPossible: mayHaveWorked(facts) }
}

/** Design section 4, Ends of a task: a task whose last answer was a refusal was not slow, it was refused. */
export function deadlineFailure(facts: Facts): TaskFailure {
  const last = facts.past.at(-1)
  if (last !== undefined && isUpstreamRefusal(last)) return refusalFailure(facts)
  return { code: 'generation_timeout', cause: 'deadline', workPossible: mayHaveWorked(facts) }
}

/** `waitMs`: how long a wait would be, beside what the last answer asked for. */
export function refusalFailure(facts: Facts, waitMs?: number): TaskFailure {
  const last = facts.past.at(-1)
  const saidMs =
    last?.retryAfterMs === undefined ? undefined : last.closedAtMs + last.retryAfterMs - facts.nowMs
  const retryAfterMs = Math.max(waitMs ?? 0, saidMs ?? 0)
  return {
    code: 'rate_limit_exceeded',
    cause: 'refused',
    workPossible: mayHaveWorked(facts),
    ...(retryAfterMs > 0 ? { retryAfterMs } : {}),
  }
}

/** No channel is left for this task: why, is what the last one said. */
export function outOfChannels(facts: Facts): TaskFailure {
  const last = facts.past.at(-1)
  if (last?.class === 'refused') return refusalFailure(facts)
  if (last?.class === 'exhausted') return { ...refusalFailure(facts), cause: 'exhausted' }
  return { code: 'upstream_error', cause: 'operator_fault', workPossible: mayHaveWorked(facts) }
}
