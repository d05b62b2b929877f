import type { Readable } from 'node:stream'

/** The answer ended otherwise than whole: the connection broke, the deadline came, or it was too large. */
export class AnswerLostError extends Error {
  override readonly name = 'AnswerLostError'
  readonly tooLarge: boolean

  constructor(tooLarge: boolean, cause?: unknown) {
    super(tooLarge ? 'The answer is too large' : 'The answer broke off', { cause })
    this.tooLarge = tooLarge
  }
}

/** At most `bytesMax` bytes of an answer's body. Every failure is an `AnswerLostError`. */
export async function* readAnswer(body: Readable, bytesMax: number): AsyncGenerator<Uint8Array> {
  let bytes = 0
  const chunks = body[Symbol.asyncIterator]()
  try {
    for (;;) {
      const chunk = await nextChunk(chunks)
      if (chunk === undefined) return
      bytes += chunk.byteLength
      if (bytes > bytesMax) throw new AnswerLostError(true)
      yield chunk
    }
  } finally {
    body.destroy()
  }
}

async function nextChunk(chunks: AsyncIterator<unknown>): Promise<Uint8Array | undefined> {
  try {
    const { done, value } = await chunks.next()
    if (done === true) return undefined
    if (value instanceof Uint8Array) return value
  } catch (error) {
    throw new AnswerLostError(false, error)
  }
  throw new Error('Bug: an answer body yields bytes')
}
