/**
 * Room for so many bytes at once, in turn; each taker waits its own while. One holder has three quarters
 * of it at most, so that none shuts all others out, however many and slow its bodies are.
 */
export type ByteBudget = {
  /** False when there was no room within `waitMs`. More than the whole budget counts as the whole. */
  readonly take: (holder: string, bytes: number, waitMs: number) => Promise<boolean>
  readonly give: (holder: string, bytes: number) => void
}

type Waiter = { readonly holder: string; readonly bytes: number; readonly admit: () => void }

const shareMax = 0.75

export function createByteBudget(bytesMax: number): ByteBudget {
  let left = bytesMax
  const held = new Map<string, number>()
  const waiters = new Set<Waiter>()

  function hold(holder: string, bytes: number): void {
    left -= bytes
    const now = (held.get(holder) ?? 0) + bytes
    if (now === 0) held.delete(holder)
    else held.set(holder, now)
  }

  /** A single body is let in, whatever its share. */
  function exceedsShare({ holder, bytes }: Waiter): boolean {
    const has = held.get(holder) ?? 0
    return has > 0 && has + bytes > bytesMax * shareMax
  }

  function take(holder: string, bytes: number, waitMs: number): Promise<boolean> {
    const wanted = Math.min(bytes, bytesMax)
    return new Promise((resolve) => {
      const waiter: Waiter = { holder, bytes: wanted, admit: () => end(true) }
      const timer = setTimeout(() => end(false), waitMs)
      function end(admitted: boolean): void {
        clearTimeout(timer)
        waiters.delete(waiter)
        resolve(admitted)
        if (!admitted) admitWaiters()
      }
      waiters.add(waiter)
      admitWaiters()
    })
  }

  /** First come, first served: a small one may not starve the large one before it, but for its share. */
  function admitWaiters(): void {
    for (const waiter of waiters) {
      if (exceedsShare(waiter)) continue
      if (waiter.bytes > left) return
      hold(waiter.holder, waiter.bytes)
      waiter.admit()
    }
  }

  function give(holder: string, bytes: number): void {
    hold(holder, -Math.min(bytes, bytesMax))
    admitWaiters()
  }

  return { take, give }
}
