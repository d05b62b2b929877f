import type { Queue } from '../queue.ts'
import { waitIn } from '../queue.ts'

/**
 * How many large requests one worker reads and sends at the same time. While a request is read and sent, it takes up to
 * twelve times its bytes of memory. Once it is sent, it takes none.
 */
const largeMax = 4

/** A request is large above this size, in bytes of its stored text. */
export const largeBytes = 256 * 1024

/** Ends the turn of a request. Safe to repeat. */
export type LeaveTurn = () => void

export type LargeRequests = ReturnType<typeof createLargeRequests>

/** Creates the turns of the large requests of one worker, first come first served. */
export function createLargeRequests() {
  let free = largeMax
  const queue: Queue = []

  function newTurn(): LeaveTurn {
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      const next = queue.shift()
      if (next === undefined) free += 1
      else next()
    }
  }

  function tryEnter(): LeaveTurn | undefined {
    if (free === 0) return undefined
    free -= 1
    return newTurn()
  }

  return {
    /** Begins the turn of a request of this size, or returns `undefined` when it must wait for one. */
    tryEnter: (bytes: number) => (bytes > largeBytes ? tryEnter() : () => {}),
    /** Waits for the turn of a large request. Returns `undefined` when the signal aborts. */
    enter: async (signal?: AbortSignal): Promise<LeaveTurn | undefined> =>
      tryEnter() ?? ((await waitIn(queue, signal)) ? newTurn() : undefined),
  }
}
