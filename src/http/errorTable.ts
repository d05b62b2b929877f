import { webhooksMax } from '../domain/webhooks/webhook.ts'

/**
 * Every error by its name, which routes list for the OpenAPI document: its status, its text where that does not depend on
 * the failure, and its code where that is not the name. A test compares every answer that it fetches with the document.
 */
const errors = {
  not_http: [400, 'The request is not valid HTTP.', 'invalid_request'],
  invalid_request: [400],
  invalid_json: [400],
  invalid_value: [400],
  missing_required_parameter: [400],
  unknown_parameter: [400],
  invalid_image: [400],
  model_not_found: [400],
  unsupported_content_type: [400],
  unsupported_content_encoding: [400],
  unreadable_body: [400, '', 'read_request_body_failed'],
  content_policy_violation: [400],
  moderation_blocked: [400],
  no_image_generated: [400],
  upstream_invalid_request: [400],
  invalid_api_key: [401, 'The API key is missing or invalid.'],
  insufficient_user_quota: [403],
  access_denied: [403],
  not_found: [404],
  unknown_model: [404, 'There is no such model.', 'model_not_found'],
  task_not_found: [404, 'There is no such task.'],
  webhook_not_found: [404, 'There is no such webhook.'],
  delivery_not_found: [404, 'The webhook has no such delivery.'],
  // Invented, altered and expired addresses get the same answer, so that nobody can tell them apart.
  asset_not_found: [404, 'The asset does not exist or has expired.', 'not_found'],
  result_expired: [
    404,
    'The image of this Idempotency-Key has expired. A new request needs a new key.',
  ],
  method_not_allowed: [405],
  request_timeout: [408, 'The request did not arrive in time.', 'invalid_request'],
  task_not_finished: [409, 'The task is not finished yet.'],
  task_failed: [409, 'The task failed and has no result.'],
  cancel_call_under_way: [
    409,
    'A call of the upstream model is under way. The task continues, and is charged if it gets an image.',
    'task_not_cancellable',
  ],
  cancel_work_possible: [
    409,
    'An earlier call of the upstream model may have done work. The task continues, and is charged if it gets an image.',
    'task_not_cancellable',
  ],
  cancel_succeeded: [409, 'The task has already succeeded.', 'task_not_cancellable'],
  cancel_failed: [409, 'The task has already failed.', 'task_not_cancellable'],
  idempotency_key_reused: [409, 'The Idempotency-Key already belongs to a different request.'],
  webhook_disabled: [409, 'The webhook is disabled. Enable it first.'],
  too_many_webhooks: [409, `An account can have ${webhooksMax} webhooks. Delete one first.`],
  body_too_large: [413, '', 'read_request_body_failed'],
  range_not_satisfiable: [416, 'The range is outside the asset.'],
  rate_limit_exceeded: [429],
  overloaded: [
    429,
    'Too many large requests are in progress. Try again later.',
    'rate_limit_exceeded',
  ],
  too_many_variants: [
    429,
    'Too many images are being converted. Try again later.',
    'rate_limit_exceeded',
  ],
  too_many_waiters: [
    429,
    'Too many requests wait for tasks. Try again later, or read the task without waiting.',
    'rate_limit_exceeded',
  ],
  too_many_tests: [
    429,
    'Too many test events of this webhook are pending. Try again later.',
    'rate_limit_exceeded',
  ],
  headers_too_large: [431, 'The request headers are too large.', 'invalid_request'],
  internal_error: [500, 'The request could not be completed.'],
  do_request_failed: [500],
  generation_timeout: [500, 'The image is not finished yet. The task continues.'],
  cancelled: [500],
  not_ready: [503, 'Not ready.'],
} as const satisfies Readonly<Record<string, TableRow>>

type TableRow = readonly [status: number, text?: string, code?: string]

export type ErrorName = keyof typeof errors

/** The errors that say the same to every client. */
export type FixedErrorName = {
  [Name in ErrorName]: (typeof errors)[Name] extends
    | readonly [number]
    | readonly [number, '', string]
    ? never
    : Name
}[ErrorName]

export type NamedError = { readonly status: number; readonly code: string; readonly text: string }

/** The content of one error answer. `errorBody` puts it into an envelope. */
export type ErrorReply = {
  readonly status: number
  readonly type: 'invalid_request_error' | 'new_api_error' | 'rate_limit_error'
  readonly code: string
  /**
   * The request field that is wrong, or null when no field is. When `type` is `new_api_error`, this is the empty
   * text instead. Only the error about the budget of a key has that type and null.
   */
  readonly param: string | null
  readonly message: string
  /** Each name is written in the letter case in which it is sent. */
  readonly headers?: Readonly<Record<string, string>>
}

/** Returns what the table says of an error. The text is empty where it depends on the failure. */
export function namedError(name: ErrorName): NamedError {
  const [status, text = '', code = name]: TableRow = errors[name]
  return { status, code, text }
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

/** Why a task is not cancelled. */
export const cancelErrors = [
  'cancel_call_under_way',
  'cancel_work_possible',
  'cancel_succeeded',
  'cancel_failed',
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
