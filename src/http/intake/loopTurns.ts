/**
 * Gives the event loop to other work while bodies are read. A few bytes of a compressed body can unpack to
 * megabytes whose chunks are all there at once, and reading them without a pause would block every other
 * request. All bodies of the process share the turns, so many such bodies at once block no longer than one.
 */
export type LoopTurns = {
  /** Resolves at once while the current turn is young, else in the next turn of the event loop. */
  readonly pause: () => Promise<void>
}

/** A turn that is older than this is over. Other work waits about this long, and one chunk per body. */
const turnMsMax = 10

/** The turns of one process. */
export function createLoopTurns(): LoopTurns {
  let startedAtMs = performance.now()
  let next: Promise<void> | undefined

  function startNext(): Promise<void> {
    return new Promise((resolve) => {
      setImmediate(() => {
        next = undefined
        startedAtMs = performance.now()
        resolve()
      })
    })
  }

  async function pause(): Promise<void> {
    if (performance.now() - startedAtMs > turnMsMax) await (next ??= startNext())
  }

  return { pause }
}
