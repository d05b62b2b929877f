/**
 * Why the bytes of a body could not be read. `interrupted`: the connection ended before the body did.
 * `stalled`: no bytes, or too few, came for too long. `no_room`: the receiver has too many bodies in
 * progress.
 */
export type BodyFailure =
  | { readonly tag: 'too_large'; readonly limitBytes: number }
  | { readonly tag: 'corrupt_coding' }
  | { readonly tag: 'interrupted' }
  | { readonly tag: 'stalled' }
  | { readonly tag: 'no_room' }

/**
 * Thrown by a byte stream to its reader. These failures are expected, but a stream has no other way to
 * report one. The code that reads the whole body turns the error back into a value.
 */
export class BodyError extends Error {
  override readonly name = 'BodyError'
  readonly failure: BodyFailure

  constructor(failure: BodyFailure) {
    super(`The body could not be read: ${failure.tag}`)
    this.failure = failure
  }
}

/** Thrown to the reader of one image when the document or form around the image is refused. */
export class IntakeAbandonedError extends Error {
  override readonly name = 'IntakeAbandonedError'
}

/** Keys and indices from the top of a JSON document to one value. */
export type JsonPath = readonly (string | number)[]

/** Why a JSON document was refused. A path names the value. No failure contains the value itself. */
export type JsonIntakeFailure =
  | { readonly tag: 'empty' }
  | { readonly tag: 'syntax' }
  | { readonly tag: 'invalid_utf8' }
  | { readonly tag: 'duplicate_key'; readonly path: JsonPath }
  | { readonly tag: 'too_deep' }
  | { readonly tag: 'too_many_tokens' }
  | { readonly tag: 'number_out_of_range'; readonly path: JsonPath }
  /** NUL or a lone surrogate, which PostgreSQL cannot store as text. */
  | { readonly tag: 'unstorable_text'; readonly path: JsonPath }
  | { readonly tag: 'text_too_long'; readonly limitBytes: number }
  | { readonly tag: 'invalid_base64'; readonly path: JsonPath }
  | { readonly tag: 'diverted_too_large'; readonly path: JsonPath; readonly limitBytes: number }
  /** `path` names the string that exceeded the limit on all diverted strings together. */
  | {
      readonly tag: 'diverted_total_too_large'
      readonly path: JsonPath
      readonly limitBytes: number
    }
  | { readonly tag: 'too_many_diverted'; readonly path: JsonPath; readonly limit: number }
