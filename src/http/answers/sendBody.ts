import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ApiContext } from '../context.ts'

/**
 * Sends a JSON answer. Koa would add a charset to the content type, but `application/json` has none (RFC
 * 8259).
 */
export function sendJson(context: ApiContext, status: number, value: object): void {
  context.status = status
  context.set('Content-Type', 'application/json')
  context.body = JSON.stringify(value)
}

type StreamedAnswer = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** The number of bytes of `content`. With the exact number, a client notices when an answer is cut off. */
  readonly contentLength: number
  /** Returns the bytes, or `undefined` when they do not exist. Not called for a HEAD request. */
  readonly open: () => Promise<AsyncIterable<Uint8Array> | undefined>
}

/**
 * Streams an answer as fast as the client reads it. Resolves when the answer is sent or the client has left.
 * Returns false, and sends nothing, when `open` finds no content. When the content fails, the connection is destroyed,
 * so that no client takes a part for the whole, and the failure is thrown.
 */
export async function sendStream(context: ApiContext, answer: StreamedAnswer): Promise<boolean> {
  const isHead = context.method === 'HEAD'
  const content = isHead ? undefined : await answer.open()
  if (content === undefined && !isHead) return false
  if (context.res.destroyed) {
    // The client left while the content was opened. `pipeline` would report that as an error, and leave it open.
    if (content instanceof Readable) content.destroy()
    return true
  }
  context.status = answer.status
  context.set({ ...answer.headers, 'Content-Length': String(answer.contentLength) })
  if (content === undefined) return true
  context.respond = false
  try {
    await pipeline(content, context.res)
  } catch (error) {
    if (!isClientGone(error)) throw error
  }
  return true
}

function isClientGone(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE'
}
