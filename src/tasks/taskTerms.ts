import { hardEndMs } from '../domain/deadlines.ts'
import type { ImageRequest } from '../domain/imageRequest.ts'
import type { Family } from '../domain/models.ts'
import type { Price } from '../domain/prices.ts'
import { creditsOf } from '../domain/prices.ts'

export type TaskTermsDeps = {
  /** Prices every request that the capabilities allow; checked when the process starts. */
  readonly prices: readonly Price[]
  readonly taskDeadlineMs: number
  /** The longest timeout of the family's channels. */
  readonly longestTimeoutMs: (family: Family) => number
}

/** `deadlineMs` and `hardEndMs` are milliseconds from the acceptance of the task. */
type TaskTerms = {
  readonly credits: number
  readonly deadlineMs: number
  readonly hardEndMs: number
}

/** The price and the time limits of a task that is accepted now. Throws when the request has no price. */
export function taskTerms(deps: TaskTermsDeps, request: ImageRequest): TaskTerms {
  const credits = creditsOf(deps.prices, { ...request, inputImages: request.inputs.length })
  if (credits === undefined) throw new Error(`Bug: a request of ${request.model} has no price`)
  const deadlineMs = deps.taskDeadlineMs
  const timeoutMs = deps.longestTimeoutMs(request.family)
  return { credits, deadlineMs, hardEndMs: hardEndMs(deadlineMs, timeoutMs) }
}
