/**
 * Limits the bytes of the large bodies that are received, or of the assets that are sent, at the same time,
 * for all accounts together. One account (the holder) gets at most three quarters of the budget. Otherwise a
 * single account with many slow bodies or downloads could block all other accounts.
 */
export type ByteBudget = {
  /**
   * Takes room for `bytes`. Resolves to false when there is no room within `waitMs`. A body larger than the
   * whole budget takes the whole budget.
   */
  readonly take: (holder: string, bytes: number, waitMs: number) => Promise<boolean>
  readonly give: (holder: string, bytes: number) => void
}

type Waiter = { readonly holder: string; readonly bytes: number; readonly admit: () => void }

const holderShareMax = 0.75

/** Creates a budget of `bytesMax` bytes. All of them are free at the start. */
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

  /**
   * Returns whether a body would exceed the share of its holder. If the holder has no other body, its body
   * never exceeds the share, however large the body is.
   */
  function exceedsShare({ holder, bytes }: Waiter): boolean {
    const has = held.get(holder) ?? 0
    return has > 0 && has + bytes > bytesMax * holderShareMax
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

  /**
   * Admits waiting bodies in the order of their arrival, so that small bodies cannot make a large one wait
   * forever. A body beyond the share of its holder is skipped; the bodies behind it may go first.
   */
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

/**
 * A body up to this size takes no room in the budget. Enough for a request with only a prompt, so that large
 * uploads never delay such a request.
 */
const freeBytes = 256 * 1024

/**
 * Room is taken in steps of at least this size, so that a body of unknown size asks for more room only
 * rarely.
 */
const stepBytes = 8 * 1024 * 1024

/**
 * How long a body may wait for room. Long enough for a short burst of large bodies. After this wait, the
 * client gets a 429 with a Retry-After.
 */
const waitMs = 3_000

/** The room that one body has taken in the byte budget. */
export type BodyLease = {
  /**
   * Makes sure that the body has room for `bytes` bytes in total. Resolves to false when there is no room
   * within three seconds.
   */
  readonly cover: (bytes: number) => Promise<boolean>
  /** Gives all room of the body back. A second call does nothing. */
  readonly end: () => void
}

/** Creates a lease for one body of `holder`. The lease has taken no room yet. */
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
