import type { FixedError } from './errors.ts'
import { fixedErrors, isFixedError } from './errors.ts'

// The names with which routes list their errors, for the OpenAPI document. A test compares every answer that it fetches
// with the document.

/** Status and code of the errors that do not say the same to every client, where the code is not the name. */
const otherErrors = {
  invalid_request: [400],
  malformed_task_id: [400, 'invalid_request'],
  invalid_json: [400],
  invalid_value: [400],
  missing_required_parameter: [400],
  unknown_parameter: [400],
  invalid_image: [400],
  model_not_found: [400],
  unsupported_content_type: [400],
  unsupported_content_encoding: [400],
  unreadable_body: [400, 'read_request_body_failed'],
  content_policy_violation: [400],
  moderation_blocked: [400],
  no_image_generated: [400],
  upstream_invalid_request: [400],
  invalid_api_key: [401],
  insufficient_user_quota: [403],
  access_denied: [403],
  not_found: [404],
  unknown_model: [404, 'model_not_found'],
  result_expired: [404],
  task_not_cancellable: [409],
  body_too_large: [413, 'read_request_body_failed'],
  range_not_satisfiable: [416],
  rate_limit_exceeded: [429],
  do_request_failed: [500],
  generation_timeout: [500],
  cancelled: [500],
} as const satisfies Readonly<Record<string, readonly [status: number, code?: string]>>

export type ErrorName = keyof typeof otherErrors | FixedError

/** What the description says of an error. */
export type NamedError = { readonly status: number; readonly code: string }

/** Returns the status and the code of an error. */
export function namedError(name: ErrorName): NamedError {
  if (isFixedError(name)) {
    const [status, , code = name] = fixedErrors[name]
    return { status, code }
  }
  const [status, code = name] = otherErrors[name]
  return { status, code }
}

/** Errors of a JSON body, on every route that takes one. */
export const bodyErrors = [
  'invalid_json',
  'invalid_value',
  'missing_required_parameter',
  'unknown_parameter',
  'unsupported_content_type',
  'unsupported_content_encoding',
  'unreadable_body',
  'body_too_large',
  'rate_limit_exceeded',
] as const satisfies readonly ErrorName[]

/** Errors of every route that makes a task. */
export const submitErrors = [
  ...bodyErrors,
  'model_not_found',
  'invalid_image',
  'insufficient_user_quota',
  'access_denied',
  'idempotency_key_reused',
] as const satisfies readonly ErrorName[]

/** Errors of every route that makes a task and waits for its end. */
export const syncErrors = [
  ...submitErrors,
  'no_image_generated',
  'upstream_invalid_request',
  'result_expired',
  'do_request_failed',
  'generation_timeout',
  'cancelled',
] as const satisfies readonly ErrorName[]
