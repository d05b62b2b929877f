import { Readable } from 'node:stream'

export type WatchedBody = {
  readonly stream: Readable
  /** When the first piece was asked for: only a connected socket asks. */
  readonly startedAtMs: () => number | undefined
  /** Our own source failed, so the body was never complete. */
  readonly failed: () => boolean
}

/** Watches how far the sending of a request body got. */
export function watchBody(
  content: AsyncIterable<Uint8Array>,
  monotonicMs: () => number,
): WatchedBody {
  let startedAtMs: number | undefined
  let failed = false
  const watched = async function* (): AsyncGenerator<Uint8Array> {
    startedAtMs = monotonicMs()
    try {
      yield* content
    } catch (error) {
      failed = true
      throw error
    }
  }
  const stream = Readable.from(watched(), { highWaterMark: 2 })
  // The sender listens only while it sends; a late error must not become an uncaught one.
  stream.on('error', () => {})
  return { stream, startedAtMs: () => startedAtMs, failed: () => failed }
}
