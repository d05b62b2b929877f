/**
 * Returns a function that flushes the same thing to the disk for everybody. A flush covers what was written before it
 * began, so those who ask while one is under way share the next one. A flush that fails, fails for those who shared it.
 */
export function createSharedFlush(flush: () => Promise<void>): () => Promise<void> {
  let underWay: Promise<unknown> = Promise.resolve()
  let next: Promise<void> | undefined

  async function flushNext(): Promise<void> {
    await underWay
    next = undefined
    const flushing = flush()
    underWay = flushing.catch(() => {})
    await flushing
  }

  return () => (next ??= flushNext())
}
