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

/** Bodies up to this size never wait: submits with a prompt alone are unaffected by large uploads. */
const freeBytes = 256 * 1024

/** A body of unknown size takes room in steps of this. */
const stepBytes = 8 * 1024 * 1024

/** A brief wait smooths a burst; longer ones are the client's, which is told when to come back. */
const waitMs = 3_000

/** One body's share of the budget for large bodies (design section 4, Overload). */
export type BodyLease = {
  /** Room for a body of so many bytes in all; false when there was none within a brief wait. */
  readonly cover: (bytes: number) => Promise<boolean>
  /** Gives everything back; safe to call twice. */
  readonly end: () => void
}

export function leaseFrom(budget: ByteBudget, holder: string): BodyLease {
  const taken: number[] = []
  let coveredBytes = freeBytes
  let ended = false

  async function cover(bytes: number): Promise<boolean> {
    if (bytes <= coveredBytes) return true
    const more = Math.max(stepBytes, bytes - coveredBytes)
    if (!(await budget.take(holder, more, waitMs))) return false
    if (ended) {
      budget.give(holder, more)
      return false
    }
    taken.push(more)
    coveredBytes += more
    return true
  }

  function end(): void {
    ended = true
    for (const bytes of taken.splice(0)) budget.give(holder, bytes)
  }

  return { cover, end }
}
