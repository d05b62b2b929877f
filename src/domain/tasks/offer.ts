import type { Family } from '../models/models.ts'

/** A synchronous task that an API process offers to one worker process. */
export type Offer = { readonly taskId: string; readonly family: Family }

/**
 * What became of an offer. `succeeded` and `failed`: its worker recorded the end, and the task has no run.
 * `over`: the task had already ended. `no_worker`: no worker takes offers, so the API process started the
 * workflow. Every other result is the reason why the worker handed the task over to a workflow.
 */
export const offerResults = [
  'succeeded',
  'failed',
  'over',
  'no_worker',
  'no_slot',
  'wait',
  'call_under_way',
  'error',
  'stopping',
] as const
export type OfferResult = (typeof offerResults)[number]
