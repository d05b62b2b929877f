/**
 * Why the bytes of a body could not be read. `interrupted`: the connection ended before the body did.
 * `stalled`: the body arrived too slowly, or stopped arriving. `no_room`: too many large bodies arrive at the
 * same time.
 */
export type BodyFailure =
  | { readonly tag: 'too_large'; readonly limitBytes: number }
  | { readonly tag: 'corrupt_coding' }
  | { readonly tag: 'interrupted' }
  | { readonly tag: 'stalled' }
  | { readonly tag: 'no_room' }

/**
 * Thrown by a stream of bytes to its reader. These failures are expected, but a stream has no other way to
 * report them. The code that reads the whole body catches the error and returns the failure as a value.
 */
export class BodyError extends Error {
  override readonly name = 'BodyError'
  readonly failure: BodyFailure

  constructor(failure: BodyFailure) {
    super(`The body could not be read: ${failure.tag}`)
    this.failure = failure
  }
}

/** Thrown to the reader of one image when the JSON document or form around it is invalid or cannot be read. */
export class IntakeAbandonedError extends Error {
  override readonly name = 'IntakeAbandonedError'
}

/** The keys and indices that lead from the top of a JSON document to one value. */
export type JsonPath = readonly (string | number)[]

/**
 * Why a JSON document cannot be accepted. `path` leads to the value that is wrong. No failure contains the
 * value itself.
 */
export type JsonIntakeFailure =
  | { readonly tag: 'empty' }
  | { readonly tag: 'syntax' }
  | { readonly tag: 'invalid_utf8' }
  | { readonly tag: 'duplicate_key'; readonly path: JsonPath }
  | { readonly tag: 'too_deep' }
  | { readonly tag: 'too_many_tokens' }
  | { readonly tag: 'number_out_of_range'; readonly path: JsonPath }
  /** The text contains NUL or a lone surrogate. PostgreSQL cannot store such a text. */
  | { readonly tag: 'unstorable_text'; readonly path: JsonPath }
  | { readonly tag: 'text_too_long'; readonly limitBytes: number }
  | { readonly tag: 'invalid_base64'; readonly path: JsonPath }
  | { readonly tag: 'diverted_too_large'; readonly path: JsonPath; readonly limitBytes: number }
  /** `path` leads to the string with which all diverted strings together exceeded their limit. */
  | {
      readonly tag: 'diverted_total_too_large'
      readonly path: JsonPath
      readonly limitBytes: number
    }
  | { readonly tag: 'too_many_diverted'; readonly path: JsonPath; readonly limit: number }
