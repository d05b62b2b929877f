import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ApiContext } from '../context.ts'

/** Koa's own JSON answers carry a charset parameter, which `application/json` does not have (RFC 8259). */
export function sendJson(context: ApiContext, status: number, value: object): void {
  context.status = status
  context.set('Content-Type', 'application/json')
  context.body = JSON.stringify(value)
}

type StreamedAnswer = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** Exactly the bytes of `content`, so that a client notices when an answer is cut off. */
  readonly contentLength: number
  /** Not called for HEAD. */
  readonly content: () => AsyncIterable<Uint8Array>
}

/**
 * Streams an answer as fast as its client reads it. When `content` throws midway, the connection is
 * destroyed and the error is thrown on; Koa would leave the client waiting. Resolves when the answer is
 * sent or the client has left.
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
    if (!isClientGone(error)) throw error
  }
}

function isClientGone(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE'
}
