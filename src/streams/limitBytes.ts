import { BodyError } from './bodyError.ts'

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
