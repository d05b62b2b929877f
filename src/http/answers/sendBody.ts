import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { finished, pipeline } from 'node:stream/promises'
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

/** An answer of at most this size is sent together with its headers, in one write. */
const atOnceBytesMax = 64 * 1024

type StreamedAnswer = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** The number of bytes of `content`. With the exact number, a client notices when an answer is cut off. */
  readonly contentLength: number
  /** Opens the content. Not called for a HEAD request. */
  readonly content: () => AsyncIterable<Uint8Array>
}

/**
 * Streams an answer as fast as the client reads it. Resolves when the answer is sent or the client has left.
 * When `content` throws midway, this function destroys the connection and throws the same error. Koa alone
 * would leave the connection open, and the client would wait for the rest.
 *
 * A small answer is read whole before anything of it is sent, so that an error can still be answered.
 */
export async function sendStream(context: ApiContext, answer: StreamedAnswer): Promise<void> {
  const { res } = context
  const head = context.method === 'HEAD'
  const whole =
    !head && answer.contentLength <= atOnceBytesMax ? await wholeContent(answer) : undefined
  context.status = answer.status
  context.set({ ...answer.headers, 'Content-Length': String(answer.contentLength) })
  context.respond = false
  if (head) {
    res.end()
    return
  }
  try {
    if (whole === undefined) {
      await pipeline(Readable.from(answer.content(), { objectMode: false }), res)
    } else {
      await finished(res.end(whole))
    }
  } catch (error) {
    if (!isClientGone(error)) throw error
  }
}

async function wholeContent({ content, contentLength }: StreamedAnswer): Promise<Buffer> {
  const whole = await buffer(content())
  if (whole.length !== contentLength) throw new Error('The content has another length')
  return whole
}

function isClientGone(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE'
}
