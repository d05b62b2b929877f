/**
 * Why the bytes of a body could not be had. `interrupted`: the connection ended before the body did;
 * `stalled`: nothing came for too long; `no_room`: the receiver has too much under way.
 */
export type BodyFailure =
  | { readonly tag: 'too_large'; readonly limitBytes: number }
  | { readonly tag: 'corrupt_coding' }
  | { readonly tag: 'interrupted' }
  | { readonly tag: 'stalled' }
  | { readonly tag: 'no_room' }

/** Carries an expected failure out of a byte stream, where no value can: the intake turns it back into one. */
export class BodyError extends Error {
  override readonly name = 'BodyError'
  readonly failure: BodyFailure

  constructor(failure: BodyFailure) {
    super(`The body could not be read: ${failure.tag}`)
    this.failure = failure
  }
}
