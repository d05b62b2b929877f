/**
 * The same content, throwing the signal's reason once it aborts: at once, even while the source is silent
 * (a client that stopped sending), when asking it to end would wait for its next chunk.
 */
export async function* abortable(
  content: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const chunks = content[Symbol.asyncIterator]()
  const aborted = Promise.withResolvers<never>()
  // Lost when the content ends first.
  aborted.promise.catch(() => {})
  const onAbort = (): void => aborted.reject(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  if (signal.aborted) onAbort()
  try {
    for (;;) {
      const step = await Promise.race([chunks.next(), aborted.promise])
      if (step.done === true) return
      yield step.value
    }
  } finally {
    signal.removeEventListener('abort', onAbort)
    chunks.return?.().catch(() => {})
  }
}
