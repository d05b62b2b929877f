/** Why a task ended without an image. Research wire.md section 6 (failed-task codes), and `cancelled`. */
export const taskFailureCodes = [
  'content_policy_violation',
  'no_image_generated',
  'upstream_invalid_request',
  'rate_limit_exceeded',
  'generation_timeout',
  'upstream_error',
  'cancelled',
] as const
export type TaskFailureCode = (typeof taskFailureCodes)[number]

/**
 * What stood behind the end; decides a synchronous caller's status (design section 4, Ends of a task)
 * and whether the key is freed. `workPossible`: an upstream call may have done paid work.
 */
export const failureCauses = [
  'rejected',
  'refused',
  'exhausted',
  'operator_fault',
  'unknown',
  'deadline',
  'cancelled',
] as const
export type FailureCause = (typeof failureCauses)[number]

export type TaskFailure = {
  readonly code: TaskFailureCode
  readonly cause: FailureCause
  readonly workPossible: boolean
  /** Milliseconds the upstream asked to wait, when the last answer was a refusal that said so. */
  readonly retryAfterMs?: number
}

/** Client texts are fixed per code (design 1.16): nothing of the upstream's own words passes through. */
export const taskFailureMessages: Readonly<Record<TaskFailureCode, string>> = {
  content_policy_violation: 'The upstream model refused this request under its content policy.',
  no_image_generated: 'The upstream model answered without an image.',
  upstream_invalid_request: 'The upstream model did not accept this request.',
  rate_limit_exceeded: 'The upstream model is rate limited or out of capacity. Try again later.',
  generation_timeout: 'The image was not finished before the deadline of the task.',
  upstream_error: 'The upstream model could not complete this request.',
  cancelled: 'The task was cancelled before it did any work.',
}
