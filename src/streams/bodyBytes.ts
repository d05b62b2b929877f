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

/** Passes chunks through and throws `BodyError` (`too_large`) before the one that passes the limit. */
export async function* limitBytes(
  source: AsyncIterable<Uint8Array>,
  limitBytes: number,
): AsyncGenerator<Uint8Array> {
  let bytes = 0
  for await (const chunk of source) {
    bytes += chunk.length
    if (bytes > limitBytes) throw new BodyError({ tag: 'too_large', limitBytes })
    yield chunk
  }
}

/**
 * The same bytes in chunks of at least `bytesMin`, but for the last. A peer that sends single bytes
 * would otherwise make every later step cost as much per byte as it does per chunk.
 */
export async function* coalesceChunks(
  source: AsyncIterable<Uint8Array>,
  bytesMin: number,
): AsyncGenerator<Uint8Array> {
  let held: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of source) {
    held.push(chunk)
    bytes += chunk.length
    if (bytes < bytesMin) continue
    yield held.length === 1 ? chunk : Buffer.concat(held)
    held = []
    bytes = 0
  }
  if (bytes > 0) yield Buffer.concat(held)
}
