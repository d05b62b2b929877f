/**
 * Why a request was not served: one tagged union, translated in exactly one place (`src/http/errors.ts`)
 * to status, envelope and headers. Messages are written here or by the schema and are safe to show:
 * they never quote the request's values.
 */
export type RequestFailure =
  | {
      /** 400. `param` is a path with brackets, `input_images[0].data`, in the client's own casing. */
      readonly tag: 'invalid_request'
      readonly code: InvalidRequestCode
      readonly param: string | null
      readonly message: string
    }
  | { readonly tag: 'unauthenticated'; readonly tokenSent: boolean }
  | { readonly tag: 'access_denied'; readonly message: string }
  | { readonly tag: 'insufficient_quota'; readonly requiredCredits: number }
  | { readonly tag: 'idempotency_key_reused' }
  /** `texts`: not the body as a whole is too large, but the texts in it. */
  | { readonly tag: 'body_too_large'; readonly limitBytes: number; readonly texts?: true }
  | { readonly tag: 'overloaded'; readonly retryAfterSeconds: number }
  | { readonly tag: 'task_not_found' }
  | { readonly tag: 'task_not_finished' }
  | { readonly tag: 'task_failed' }
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

export function invalidRequest(
  code: InvalidRequestCode,
  param: string | null,
  message: string,
): RequestFailure {
  return { tag: 'invalid_request', code, param, message }
}

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
