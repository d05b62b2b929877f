import type { IncomingMessage } from 'node:http'
import { BodyError } from '../streams/bodyError.ts'

/**
 * The bytes of a request as they come. Throws `BodyError`: `interrupted` when the client leaves,
 * `stalled` when it sends nothing for so long. Leaving early does not destroy the request: the
 * connection is still needed for the answer.
 */
export async function* readRequest(
  request: IncomingMessage,
  idleMs: number,
): AsyncGenerator<Uint8Array> {
  const chunks = request.iterator({ destroyOnReturn: false })
  try {
    for (;;) {
      const step = await nextWithin(chunks, idleMs)
      if (step.done === true) return
      yield step.value
    }
  } finally {
    // Lets go of the request, so that what is left of it can be drained. Not awaited: see `stalled`.
    void chunks.return?.()
  }
}

async function nextWithin(
  chunks: AsyncIterator<Uint8Array>,
  idleMs: number,
): Promise<IteratorResult<Uint8Array>> {
  const stalled = Promise.withResolvers<never>()
  const timer = setTimeout(() => stalled.reject(new BodyError({ tag: 'stalled' })), idleMs)
  const interrupted = () => {
    throw new BodyError({ tag: 'interrupted' })
  }
  try {
    return await Promise.race([chunks.next().catch(interrupted), stalled.promise])
  } finally {
    clearTimeout(timer)
  }
}
