import { hardEndGraceMs } from '../limits.ts'
import type { ModelTable } from '../models/modelTable.ts'
import { creditsOf } from '../models/prices.ts'
import type { SmallerPrice } from '../models/smallerPrices.ts'
import { smallerPrices } from '../models/smallerPrices.ts'
import type { Channel } from '../upstream/channel.ts'
import { channelsOf, longestTimeoutMs } from '../upstream/channel.ts'
import type { ImageRequest } from './imageRequest.ts'

export type TaskTermsDeps = {
  readonly models: ModelTable
  readonly taskDeadlineMs: number
  readonly channels: readonly Channel[]
}

/** What a task costs and how long it may take. The times are counted from the acceptance of the task. */
export type TaskTerms = {
  /** What is held. */
  readonly credits: number
  /** What is charged when the image is smaller than asked, as `smallerPrices` returns it. */
  readonly smallerPrices: readonly SmallerPrice[]
  readonly deadlineMs: number
  readonly hardEndMs: number
}

/**
 * Returns the price and the time limits of a task that is accepted now. Throws when the price list has no
 * price for the request.
 */
export function taskTerms(deps: TaskTermsDeps, request: ImageRequest): TaskTerms {
  const model = deps.models.get(request.model)
  const priced = { ...request, inputImages: request.inputs.length }
  const credits = model && creditsOf(model, priced)
  if (model === undefined || credits === undefined)
    throw new Error(`Bug: a request of ${request.model} has no price`)
  const deadlineMs = deps.taskDeadlineMs
  const timeoutMs = longestTimeoutMs(channelsOf(deps.channels, request.family))
  return {
    credits,
    smallerPrices: smallerPrices(model, priced),
    deadlineMs,
    hardEndMs: hardEndMs(deadlineMs, timeoutMs),
  }
}

/**
 * Returns the hard end of a task, in milliseconds from its acceptance. A call may start right before the
 * deadline and take `timeoutMs`, the longest timeout of the family's channels. After that, the answer must be
 * stored and settled.
 */
export function hardEndMs(deadlineMs: number, timeoutMs: number): number {
  return deadlineMs + timeoutMs + hardEndGraceMs
}

/**
 * Returns the limit for one execution of the activity `produceImage`, in milliseconds. Long enough for a task
 * of any family.
 */
export function produceTimeoutMs(deadlineMs: number, channels: readonly Channel[]): number {
  return deadlineMs + longestTimeoutMs(channels) + 2 * hardEndGraceMs
}
