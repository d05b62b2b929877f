import type { BudgetState } from './accounts/budget.ts'
import type { OverLimit } from './accounts/accountLimits.ts'
import type { Family } from './models/models.ts'

/**
 * Why a request was not served. Only `src/http/errors.ts` translates it to a status, an error body and
 * headers. Messages are safe to show to clients, because they never quote values of the request.
 */
export type RequestFailure =
  | {
      /** `param` is a path such as `input_images[0].data`, in the client's own casing. */
      readonly tag: 'invalid_request'
      readonly code: InvalidRequestCode
      readonly param: string | null
      readonly message: string
    }
  | { readonly tag: 'unauthenticated'; readonly tokenSent: boolean }
  | { readonly tag: 'access_denied'; readonly message: string }
  | { readonly tag: 'insufficient_quota'; readonly requiredCredits: number }
  | {
      readonly tag: 'over_budget'
      readonly requiredCredits: number
      readonly budget: BudgetState
    }
  | OverLimit
  | { readonly tag: 'idempotency_key_reused' }
  /** `texts` means that the texts in the body are too large. Otherwise the whole body is too large. */
  | { readonly tag: 'body_too_large'; readonly limitBytes: number; readonly texts?: true }
  | { readonly tag: 'overloaded'; readonly retryAfterSeconds: number }
  | { readonly tag: 'task_not_found' }
  | { readonly tag: 'task_not_finished' }
  | { readonly tag: 'task_failed' }
  | { readonly tag: 'webhook_not_found' }
  | { readonly tag: 'delivery_not_found' }
  | { readonly tag: 'webhook_disabled' }
  | { readonly tag: 'too_many_webhooks' }
  | { readonly tag: 'too_many_tests' }
  /**
   * `call_under_way` and `work_possible`: the task continues, because an upstream call may be paid for.
   * `succeeded` and `failed`: the task has ended.
   */
  | {
      readonly tag: 'task_not_cancellable'
      readonly reason: 'call_under_way' | 'work_possible' | 'succeeded' | 'failed'
    }
  /** The task of a synchronous call ended without an image, or would at once, and was not made. */
  | { readonly tag: 'task_ended'; readonly failure: TaskFailure; readonly family: Family }
  | { readonly tag: 'not_found' }
  | { readonly tag: 'method_not_allowed'; readonly allow: readonly string[] }

type InvalidRequestCode =
  | 'missing_required_parameter'
  | 'invalid_value'
  | 'unknown_parameter'
  | 'invalid_image'
  | 'model_not_found'
  | 'unsupported_content_type'
  | 'unsupported_content_encoding'
  | 'invalid_json'
  | 'invalid_request'
  | 'read_request_body_failed'

/** Returns the failure of a request that is not valid. `param` is null when no single field is wrong. */
export function invalidRequest(
  code: InvalidRequestCode,
  param: string | null,
  message: string,
): RequestFailure {
  return { tag: 'invalid_request', code, param, message }
}

/** Why a task ended without an image, in `error.code` of its record. */
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
 * What caused the failure, more exactly than the code says. For a synchronous client, the code `rate_limit_exceeded`
 * is a 429 whatever its cause; for every other code the cause decides the HTTP status. A task with the code
 * `cancelled` has the cause `cancelled` when somebody asked for it, and `client_left` when its last client
 * disconnected.
 */
export type FailureCause =
  | 'rejected'
  | 'refused'
  | 'exhausted'
  | 'operator_fault'
  | 'unknown'
  | 'deadline'
  | 'cancelled'
  | 'client_left'

/**
 * How a task ended without an image. `docs/architecture.md` lists the places that show it to clients and operators.
 */
export type TaskFailure = {
  readonly code: TaskFailureCode
  readonly cause: FailureCause
  /** Whether an upstream call may have done paid work. */
  readonly workPossible: boolean
  /**
   * After how long a client may try again: what is left of an upstream's Retry-After, or our own wait for a channel.
   * Absent when neither is known.
   */
  readonly retryAfterMs?: number
}

/** The text of each code for clients. Clients never see texts of the upstream. */
export const taskFailureMessages: Readonly<Record<TaskFailureCode, string>> = {
  content_policy_violation: 'The upstream model refused this request under its content policy.',
  no_image_generated: 'The upstream model answered without an image.',
  upstream_invalid_request: 'The upstream model did not accept this request.',
  rate_limit_exceeded: 'The upstream model is rate limited or out of capacity. Try again later.',
  generation_timeout: 'The image was not finished before the deadline of the task.',
  upstream_error: 'The upstream model could not complete this request.',
  cancelled: 'The task was cancelled before it did any work.',
}
