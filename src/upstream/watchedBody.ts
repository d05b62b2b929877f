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
  // Step by step: a connection that fails throws its error into the generator where it yields.
  const watched = async function* (): AsyncGenerator<Uint8Array> {
    startedAtMs = monotonicMs()
    const source = content[Symbol.asyncIterator]()
    const next = async () => {
      try {
        return await source.next()
      } catch (error) {
        failed = true
        throw error
      }
    }
    try {
      for (let step = await next(); step.done !== true; step = await next()) yield step.value
    } finally {
      await source.return?.()
    }
  }
  const stream = Readable.from(watched(), { highWaterMark: 2 })
  // The sender listens only while it sends; a late error must not become an uncaught one.
  stream.on('error', () => {})
  return { stream, startedAtMs: () => startedAtMs, failed: () => failed }
}
