import { pipeline } from 'node:stream/promises'
import type { FoundBlob } from '../../domain/ports/blobStore.ts'
import type { ApiContext } from '../requestState.ts'

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
  /** The number of bytes of the body. With the exact number, a client notices when an answer is cut off. */
  readonly contentLength: number
  /** Returns the blob, or `undefined` when it does not exist. Not called for a HEAD request. */
  readonly open: () => Promise<FoundBlob | undefined>
  /** The length that the blob should have. Default: `contentLength`. */
  readonly blobBytes?: number
  /** Makes the body of the content of the blob. Default: it is the body. */
  readonly bodyOf?: (content: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>
}

/**
 * Streams a blob as fast as the client reads it, and closes it. Resolves when the answer is sent or the client has left.
 * Returns false, and sends nothing, when `open` finds no blob. Throws when the blob has another length than it should:
 * the client would wait for the rest. When the content fails, the connection is destroyed, so that no client takes a
 * part for the whole, and the failure is thrown.
 */
export async function sendStream(context: ApiContext, answer: StreamedAnswer): Promise<boolean> {
  const { contentLength, blobBytes = contentLength, bodyOf = (content) => content } = answer
  const { res } = context
  const isHead = context.method === 'HEAD'
  const blob = isHead ? undefined : await answer.open()
  if (blob === undefined && !isHead) return false
  try {
    // The client left while the blob was opened. `pipeline` would report that as an error.
    if (res.destroyed) return true
    if (blob !== undefined && blob.bytes !== blobBytes) {
      context.state.retryIsUnsafe = true
      throw new Error('a stored image has another length than its row says')
    }
    context.status = answer.status
    context.set({ ...answer.headers, 'Content-Length': String(contentLength) })
    if (blob === undefined) return true
    context.respond = false
    // `pipeline` waits for the content, which may stall, also when the client has left.
    res.once('close', blob.close)
    await pipeline(bodyOf(blob.content), res)
  } catch (error) {
    if (!isClientGone(error)) throw error
  } finally {
    blob?.close()
  }
  return true
}

function isClientGone(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE'
}
