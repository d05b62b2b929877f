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
