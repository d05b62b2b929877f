export type Batcher = {
  readonly add: (id: string) => void
  /** Flushes what is left; resolves when no flush is under way. */
  readonly stop: () => Promise<void>
}

const sizeMax = 200
const delayMs = 50

/**
 * Gathers ids for `delayMs` and flushes them together, one flush at a time. A failed flush is told of
 * and dropped: for marks the reconciler makes good.
 */
export function createBatcher(options: {
  readonly flush: (ids: readonly string[]) => Promise<void>
  readonly onError: (count: number, error: unknown) => void
}): Batcher {
  let gathered: string[] = []
  let timer: NodeJS.Timeout | undefined
  let flushing = Promise.resolve()

  async function flushAfter(earlier: Promise<void>): Promise<void> {
    await earlier
    const ids = gathered
    gathered = []
    if (ids.length === 0) return
    await options.flush(ids).catch((error: unknown) => options.onError(ids.length, error))
  }

  function flush(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    flushing = flushAfter(flushing)
    return flushing
  }

  return {
    add: (id) => {
      gathered.push(id)
      if (gathered.length >= sizeMax) void flush()
      else timer ??= setTimeout(() => void flush(), delayMs)
    },
    stop: flush,
  }
}
