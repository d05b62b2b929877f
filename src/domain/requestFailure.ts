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

export type InvalidRequestCode =
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
