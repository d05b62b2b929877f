import { taskFailureMessages } from '../domain/failure.ts'
import { familyBModels } from '../domain/models/models.ts'
import type { Headers } from './answerHeaders.ts'

/**
 * One error as the OpenAPI document describes it: its code and example texts. `src/http/errors.ts` decides when a
 * client gets it, and `errorResponses.ts` builds the answers of the document from these rows.
 */
type DescribedError = {
  readonly status: ErrorStatus
  /** `error.code`. Absent when it is the name of the error. */
  readonly code?: string
  readonly type: 'invalid_request_error' | 'new_api_error' | 'rate_limit_error'
  /** An example of `error.param`. */
  readonly param: string | null
  /** An example of `error.message`. */
  readonly message: string
}

/** The statuses of errors. */
export type ErrorStatus = 400 | 401 | 403 | 404 | 408 | 409 | 413 | 416 | 429 | 431 | 500 | 503

/** What the document says about each status, before it lists the codes. */
export const statusTexts: Readonly<Record<ErrorStatus, string>> = {
  400: 'The request is not valid, or the model refused it.',
  401: 'The API key is missing or invalid.',
  403: 'The account lacks balance or access.',
  404: 'Not found, or not visible to this account.',
  408: 'The request did not arrive in time.',
  409: 'The request does not fit the present state.',
  413: 'The decompressed request body exceeds the ingress limit.',
  416: 'The range is outside the content.',
  429: 'The upstream model or this service has no capacity now.',
  431: 'The request headers are too large.',
  500: 'The request could not be completed.',
  503: 'Not ready.',
}

/** Headers that errors of a status have on every route. */
export const statusHeaders: { readonly [Status in ErrorStatus]?: Headers } = {
  401: { 'WWW-Authenticate': 'always' },
  404: { 'x-should-retry': 'sometimes' },
  409: { 'x-should-retry': 'always' },
  429: { 'Retry-After': 'sometimes' },
  500: { 'x-should-retry': 'sometimes' },
}

/**
 * Every error of the API, by a name. The operations in `operations/` list the names of their errors. A name is the
 * code, unless two errors share a code.
 */
const describedErrors = {
  invalid_request: invalid(400, 'Host', 'The request must have exactly one Host header.'),
  malformed_task_id: {
    ...invalid(400, 'task_id', 'The task id is malformed.'),
    code: 'invalid_request',
  },
  invalid_json: invalid(400, null, 'The request body is not valid JSON.'),
  invalid_value: invalid(
    400,
    'size',
    "Invalid value for 'size': models of this family take 1K, 2K, 4K.",
  ),
  missing_required_parameter: invalid(400, 'prompt', "Missing required parameter: 'prompt'."),
  unknown_parameter: invalid(400, 'user', "Unknown parameter: 'user'."),
  invalid_image: invalid(
    400,
    'input_images[0].data',
    "Invalid image in 'input_images[0].data': the data is not valid Base64.",
  ),
  model_not_found: invalid(
    400,
    'model',
    `The model does not exist or is not available on this route. Available models: ${familyBModels.join(', ')}.`,
  ),
  unsupported_content_type: invalid(
    400,
    'Content-Type',
    'The Content-Type must be application/json.',
  ),
  unsupported_content_encoding: invalid(
    400,
    'Content-Encoding',
    'The Content-Encoding is not supported.',
  ),
  unreadable_body: {
    ...invalid(400, null, 'The request body did not arrive in time.'),
    code: 'read_request_body_failed',
  },
  content_policy_violation: invalid(400, null, taskFailureMessages.content_policy_violation),
  moderation_blocked: invalid(400, null, taskFailureMessages.content_policy_violation),
  no_image_generated: invalid(400, null, taskFailureMessages.no_image_generated),
  upstream_invalid_request: invalid(400, null, taskFailureMessages.upstream_invalid_request),
  invalid_api_key: invalid(401, null, 'The API key is missing or invalid.'),
  insufficient_user_quota: newApi(
    403,
    'The balance does not cover this request, which needs 211 credits.',
  ),
  over_budget: {
    ...newApi(
      403,
      'The budget of this API key is 5000 credits per day, and 4900 are used. This request needs 211 credits. The budget renews at 2026-01-02T00:00:00Z.',
    ),
    code: 'insufficient_user_quota',
    param: null,
  },
  access_denied: newApi(403, 'The account may not use this model.'),
  not_found: invalid(404, null, 'Invalid URL (GET /docs)'),
  task_not_found: invalid(404, null, 'There is no such task.'),
  asset_not_found: {
    ...invalid(404, null, 'The asset does not exist or has expired.'),
    code: 'not_found',
  },
  unknown_model: { ...invalid(404, 'model', 'There is no such model.'), code: 'model_not_found' },
  result_expired: invalid(
    404,
    null,
    'The image of this Idempotency-Key has expired. A new request needs a new key.',
  ),
  request_timeout: {
    ...invalid(408, null, 'The request did not arrive in time.'),
    code: 'invalid_request',
  },
  webhook_not_found: invalid(404, null, 'There is no such webhook.'),
  delivery_not_found: invalid(404, null, 'The webhook has no such delivery.'),
  webhook_disabled: invalid(409, null, 'The webhook is disabled. Enable it first.'),
  too_many_webhooks: invalid(409, null, 'An account can have 5 webhooks. Delete one first.'),
  task_not_finished: invalid(409, null, 'The task is not finished yet.'),
  task_not_cancellable: invalid(
    409,
    null,
    'A call of the upstream model is under way. The task continues, and is charged if it gets an image.',
  ),
  task_failed: invalid(409, null, 'The task failed and has no result.'),
  idempotency_key_reused: invalid(
    409,
    null,
    'The Idempotency-Key already belongs to a different request.',
  ),
  body_too_large: {
    ...newApi(413, 'request body exceeds 128 MB: request body too large'),
    code: 'read_request_body_failed',
  },
  range_not_satisfiable: invalid(416, null, 'The range is outside the asset.'),
  rate_limit_exceeded: {
    status: 429,
    type: 'rate_limit_error',
    param: null,
    message: taskFailureMessages.rate_limit_exceeded,
  },
  headers_too_large: {
    ...invalid(431, null, 'The request headers are too large.'),
    code: 'invalid_request',
  },
  internal_error: newApi(
    500,
    'The request could not be completed. (request id: req_0a1b2c3d4e5f6g7h8i9j0k1l)',
  ),
  do_request_failed: newApi(500, `${taskFailureMessages.upstream_error} (request id: req_…)`),
  generation_timeout: newApi(
    500,
    'The image is not finished yet. The task continues. (request id: req_…)',
  ),
  cancelled: newApi(500, `${taskFailureMessages.cancelled} (request id: req_…)`),
  not_ready: newApi(503, 'Not ready. (request id: req_…)'),
} satisfies Readonly<Record<string, DescribedError>>

export type ErrorName = keyof typeof describedErrors

export function describedError(name: ErrorName): DescribedError {
  return describedErrors[name]
}

/** Errors of a JSON body, on every route that takes one. */
export const jsonBodyErrors = [
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

/** Errors of query parameters, on every route of the extensions that checks its query. */
export const queryErrors = [
  'invalid_value',
  'unknown_parameter',
] as const satisfies readonly ErrorName[]

/** Errors of every route that makes a task, besides those of its body. */
export const acceptErrors = [
  'model_not_found',
  'invalid_image',
  'insufficient_user_quota',
  'over_budget',
  'access_denied',
  'idempotency_key_reused',
] as const satisfies readonly ErrorName[]

/** Errors of every route that waits for the end of its task. */
export const endErrors = [
  'no_image_generated',
  'upstream_invalid_request',
  'result_expired',
  'rate_limit_exceeded',
  'do_request_failed',
  'generation_timeout',
  'cancelled',
] as const satisfies readonly ErrorName[]

function invalid(status: ErrorStatus, param: string | null, message: string): DescribedError {
  return { status, type: 'invalid_request_error', param, message }
}

function newApi(status: ErrorStatus, message: string): DescribedError {
  return { status, type: 'new_api_error', param: '', message }
}
