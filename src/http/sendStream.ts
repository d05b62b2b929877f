import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ApiContext } from './apiContext.ts'

export type StreamedAnswer = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** Exactly what `content` yields: so a client sees when an answer was cut. */
  readonly contentLength: number
  /** Not called for HEAD. */
  readonly content: () => AsyncIterable<Uint8Array>
}

/**
 * Streams an answer with backpressure and destroys the connection when its content fails midway, which
 * Koa would leave hanging. Settles when it is sent or its client has gone; other errors are thrown.
 */
export async function sendStream(context: ApiContext, answer: StreamedAnswer): Promise<void> {
  context.status = answer.status
  context.set({ ...answer.headers, 'Content-Length': String(answer.contentLength) })
  context.respond = false
  const { res } = context
  if (context.method === 'HEAD') {
    res.end()
    return
  }
  try {
    await pipeline(Readable.from(answer.content(), { objectMode: false }), res)
  } catch (error) {
    if (!isPrematureClose(error)) throw error
  }
}

/** `pipeline`'s word for a client that left. */
function isPrematureClose(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE'
}
