import type { IncomingMessage } from 'node:http'
import { BodyError } from '../streams/bodyError.ts'

export type Pace = {
  /** Nothing for so long is a stall. */
  readonly idleMs: number
  /** After so long, what came must have come at this rate or a faster one since then. */
  readonly graceMs: number
  readonly bytesPerSecondMin: number
}

/**
 * The bytes of a request as they come. Throws `BodyError`: `interrupted` when the client leaves,
 * `stalled` when it falls behind the pace: a body that drips holds room that others wait for. Leaving
 * early does not destroy the request: the connection is still needed for the answer.
 */
export async function* readRequest(
  request: IncomingMessage,
  pace: Pace,
): AsyncGenerator<Uint8Array> {
  const chunks = request.iterator({ destroyOnReturn: false })
  const startedAtMs = performance.now()
  let bytes = 0
  try {
    for (;;) {
      const step = await nextWithin(chunks, pace.idleMs)
      if (step.done === true) return
      bytes += step.value.length
      const dueMs = performance.now() - startedAtMs - pace.graceMs
      if (bytes < (dueMs / 1000) * pace.bytesPerSecondMin) throw new BodyError({ tag: 'stalled' })
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
