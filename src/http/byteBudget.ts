/** Room for so many bytes at once, in turn; each taker waits its own while. */
export type ByteBudget = {
  /** False when there was no room within `waitMs`. More than the whole budget counts as the whole. */
  readonly take: (bytes: number, waitMs: number) => Promise<boolean>
  readonly give: (bytes: number) => void
}

type Waiter = { readonly bytes: number; readonly admit: () => void }

export function createByteBudget(bytesMax: number): ByteBudget {
  let left = bytesMax
  const waiters = new Set<Waiter>()

  function take(bytes: number, waitMs: number): Promise<boolean> {
    const wanted = Math.min(bytes, bytesMax)
    // First come, first served: a small one may not starve the large one before it.
    if (waiters.size === 0 && wanted <= left) {
      left -= wanted
      return Promise.resolve(true)
    }
    return new Promise((resolve) => {
      const waiter: Waiter = { bytes: wanted, admit: () => end(true) }
      const timer = setTimeout(() => end(false), waitMs)
      function end(admitted: boolean): void {
        clearTimeout(timer)
        waiters.delete(waiter)
        resolve(admitted)
        if (!admitted) admitWaiters()
      }
      waiters.add(waiter)
    })
  }

  function admitWaiters(): void {
    for (const waiter of waiters) {
      if (waiter.bytes > left) return
      left -= waiter.bytes
      waiter.admit()
    }
  }

  function give(bytes: number): void {
    left += Math.min(bytes, bytesMax)
    admitWaiters()
  }

  return { take, give }
}
