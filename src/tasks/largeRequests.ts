/**
 * How many large requests one worker reads and sends at the same time. While a request is read and sent, it takes up to
 * twelve times its bytes of memory. Once it is sent, it takes none.
 */
const largeMax = 4

/** A request is large above this size, in bytes of its stored text. */
export const largeBytes = 256 * 1024

/** Waits until a request of this size may be read. Returns the function that ends its turn. */
export type EnterRequest = (bytes: number) => Promise<() => void>

/** Creates the turns of the large requests of one worker, first come first served. */
export function createLargeRequests(): EnterRequest {
  let free = largeMax
  const queue: (() => void)[] = []

  function leave(): void {
    const next = queue.shift()
    if (next === undefined) free += 1
    else next()
  }

  return async (bytes) => {
    if (bytes <= largeBytes) return () => {}
    if (free > 0) free -= 1
    else await new Promise<void>((resolve) => queue.push(resolve))
    let isInside = true
    return () => {
      if (isInside) leave()
      isInside = false
    }
  }
}
