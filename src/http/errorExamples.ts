import type { HttpFailure } from './context.ts'
import type { FixedError } from './errors.ts'
import { isFixedError } from './errors.ts'
import type { FailureCause, TaskFailureCode } from '../domain/failure.ts'
import { invalidRequest } from '../domain/failure.ts'
import { familyBModels } from '../domain/models/models.ts'
import {
  invalidImage,
  invalidValue,
  missingParameter,
  modelNotFound,
  unknownParameter,
} from '../schema/requestFailures.ts'

/**
 * An example of each error that does not say the same to every client. The OpenAPI document shows the answer that such
 * a failure gets, so no status, code or text can differ from the answers.
 */
const examples = {
  invalid_request: { tag: 'not_http' },
  malformed_task_id: invalidRequest('invalid_request', 'task_id', 'The task id is malformed.'),
  invalid_json: invalidRequest('invalid_json', null, 'The request body is not valid JSON.'),
  invalid_value: invalidValue('size', 'models of this family take 1K, 2K, 4K'),
  missing_required_parameter: missingParameter('prompt'),
  unknown_parameter: unknownParameter('user'),
  invalid_image: invalidImage('input_images[0].data', 'the data is not valid Base64'),
  model_not_found: modelNotFound(familyBModels),
  unsupported_content_type: invalidRequest(
    'unsupported_content_type',
    'Content-Type',
    'The Content-Type must be application/json.',
  ),
  unsupported_content_encoding: invalidRequest(
    'unsupported_content_encoding',
    'Content-Encoding',
    'The Content-Encoding is not supported.',
  ),
  unreadable_body: invalidRequest(
    'read_request_body_failed',
    null,
    'The request body did not arrive in time.',
  ),
  content_policy_violation: ended('content_policy_violation', 'rejected', 'A'),
  moderation_blocked: ended('content_policy_violation', 'rejected'),
  no_image_generated: ended('no_image_generated', 'rejected'),
  upstream_invalid_request: ended('upstream_invalid_request', 'rejected'),
  invalid_api_key: { tag: 'unauthenticated', tokenSent: true },
  insufficient_user_quota: { tag: 'insufficient_quota', requiredCredits: 211 },
  over_budget: {
    tag: 'over_budget',
    requiredCredits: 211,
    budget: { credits: 5000, period: 'day', used: 4900, renewsAtMs: Date.UTC(2026, 0, 2) },
  },
  access_denied: { tag: 'access_denied', message: 'The account may not use this model.' },
  not_found: { tag: 'not_found' },
  unknown_model: { tag: 'unknown_model' },
  result_expired: { tag: 'result_expired' },
  task_not_cancellable: { tag: 'task_not_cancellable', reason: 'call_under_way' },
  body_too_large: { tag: 'body_too_large', limitBytes: 128 * 1024 * 1024 },
  range_not_satisfiable: { tag: 'range_not_satisfiable', bytes: 81_920 },
  rate_limit_exceeded: ended('rate_limit_exceeded', 'refused'),
  do_request_failed: ended('upstream_error', 'unknown'),
  generation_timeout: { tag: 'sync_deadline' },
  cancelled: ended('cancelled', 'cancelled'),
} as const satisfies Readonly<Record<string, HttpFailure>>

/** The names with which routes list their errors. */
export type ErrorName = keyof typeof examples | FixedError

/** Returns a failure with the error. */
export function exampleOf(name: ErrorName): HttpFailure {
  return isFixedError(name) ? { tag: name } : examples[name]
}

function ended(code: TaskFailureCode, cause: FailureCause, family: 'A' | 'B' = 'B') {
  return { tag: 'task_ended', failure: { code, cause, workPossible: false }, family } as const
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
  'over_budget',
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
