/**
 * Limits the bytes of the large bodies that are received, or of the assets that are sent, at the same time,
 * for all accounts together. One account (the holder) gets three quarters of the budget at most: otherwise a single account with many slow
 * bodies or downloads could keep all others out.
 */
export type ByteBudget = {
  /** Resolves to false when there is no room within `waitMs`. More than the budget counts as the budget. */
  readonly take: (holder: string, bytes: number, waitMs: number) => Promise<boolean>
  readonly give: (holder: string, bytes: number) => void
}

type Waiter = { readonly holder: string; readonly bytes: number; readonly admit: () => void }

const holderShareMax = 0.75

/** A budget of `bytesMax` bytes, all free. */
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

  /** The only body of a holder is admitted however large it is. */
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
   * In order of arrival: small bodies must not keep a large one waiting forever. Only bodies beyond the
   * share of their holder are passed over.
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

/** Bodies up to this size need no room: requests with only a prompt are not affected by large uploads. */
const freeBytes = 256 * 1024

/** A body of unknown size takes room in steps of this size. */
const stepBytes = 8 * 1024 * 1024

/** A short wait evens out a burst. After it, the client gets a 429 with a Retry-After. */
const waitMs = 3_000

/** The room that one body has in the byte budget. */
export type BodyLease = {
  /** Takes room for `bytes` of the body in total. Resolves to false when there is none within three seconds. */
  readonly cover: (bytes: number) => Promise<boolean>
  /** Gives all room back. May be called twice. */
  readonly end: () => void
}

/** A lease without room yet, for one body of `holder`. */
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
