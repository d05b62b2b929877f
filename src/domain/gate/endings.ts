import type { TaskFailure } from '../failure.ts'
import type { PastAttempt } from './taskFacts.ts'
import { countOf, isUpstreamRefusal, mayHaveWorked } from './taskFacts.ts'

type Facts = { readonly nowMs: number; readonly past: readonly PastAttempt[] }

export function rejection(last: PastAttempt, facts: Facts): TaskFailure {
  const code =
    last.reason === 'content_policy'
      ? 'content_policy_violation'
      : last.reason === 'no_image'
        ? 'no_image_generated'
        : 'upstream_invalid_request'
  return { code, cause: 'rejected', workPossible: mayHaveWorked(facts.past) }
}

/** Design section 4, Ends of a task: a task whose last answer was a refusal was not slow, it was refused. */
export function deadlineFailure(facts: Facts): TaskFailure {
  const last = facts.past.at(-1)
  if (last !== undefined && isUpstreamRefusal(last)) return refusalFailure(facts)
  return { code: 'generation_timeout', cause: 'deadline', workPossible: mayHaveWorked(facts.past) }
}

/** Until one of the channels said it would take a call. */
export function refusalFailure(facts: Facts): TaskFailure {
  const toldMs = [...toldWaitsMs(facts).values()].filter((ms) => ms > 0)
  return refusedFor(facts, Math.min(...toldMs))
}

/** The channel that is free soonest is not free for so long, or for as long as it said itself. */
export function waitFailure(
  facts: Facts,
  channel: string | undefined,
  waitMs: number,
): TaskFailure {
  const toldMs = channel === undefined ? undefined : toldWaitsMs(facts).get(channel)
  return refusedFor(facts, Math.max(waitMs, toldMs ?? 0))
}

/** The last word of each channel. */
function lastWords({ past }: Facts): readonly PastAttempt[] {
  return [...new Map(past.map((attempt) => [attempt.channel, attempt])).values()]
}

/** How long from now each channel asked for with its last word. */
function toldWaitsMs(facts: Facts): ReadonlyMap<string, number> {
  return new Map(
    lastWords(facts).flatMap(({ channel, closedAtMs, retryAfterMs }) =>
      retryAfterMs === undefined ? [] : [[channel, closedAtMs + retryAfterMs - facts.nowMs]],
    ),
  )
}

function refusedFor(facts: Facts, retryAfterMs: number): TaskFailure {
  return {
    code: 'rate_limit_exceeded',
    cause: 'refused',
    workPossible: mayHaveWorked(facts.past),
    ...(retryAfterMs > 0 && Number.isFinite(retryAfterMs) ? { retryAfterMs } : {}),
  }
}

/** No channel is left for this task: what one of them may yet give goes before what none can. */
export function outOfChannels(facts: Facts): TaskFailure {
  const words = lastWords(facts)
  if (words.some(isUpstreamRefusal)) return refusalFailure(facts)
  if (countOf(words, 'exhausted') > 0) {
    return { ...refusalFailure(facts), cause: 'exhausted' }
  }
  return {
    code: 'upstream_error',
    cause: 'operator_fault',
    workPossible: mayHaveWorked(facts.past),
  }
}
