/**
 * Limits the bytes of the large bodies that are received, or of the assets that are sent, at the same time,
 * for all accounts together. One account (the holder) gets at most three quarters of the budget. Otherwise a
 * single account with many slow bodies or downloads could block all other accounts.
 */
export type ByteBudget = {
  /**
   * Resolves to false when there is no room within `waitMs`. More than the budget counts as the budget.
   * `alreadyBytes`: what the same body has taken before, default 0.
   */
  readonly take: (
    holder: string,
    bytes: number,
    waitMs: number,
    alreadyBytes?: number,
  ) => Promise<boolean>
  readonly give: (holder: string, bytes: number) => void
  readonly bytesMax: number
}

type Waiter = {
  readonly holder: string
  readonly bytes: number
  readonly alreadyBytes: number
  readonly admit: () => void
}

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

  /** The only body of a holder is admitted however large it is. */
  function exceedsShare({ holder, bytes, alreadyBytes }: Waiter): boolean {
    const has = held.get(holder) ?? 0
    return has > alreadyBytes && has + bytes > bytesMax * holderShareMax
  }

  function take(holder: string, bytes: number, waitMs: number, alreadyBytes = 0): Promise<boolean> {
    const wanted = Math.min(bytes, bytesMax)
    return new Promise((resolve) => {
      const waiter: Waiter = { holder, bytes: wanted, alreadyBytes, admit: () => end(true) }
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

  return { take, give, bytesMax }
}

/**
 * A body up to this size takes no room in the budget. Enough for a request with only a prompt, so that large
 * uploads never delay such a request.
 */
const freeBytes = 256 * 1024

/** A body takes room in steps of this size while it arrives, so it holds little more than has arrived. */
const stepBytes = 1024 * 1024

/**
 * How long a body may wait for room. Long enough for a short burst of large bodies. After this wait, the
 * client gets a 429 with a Retry-After.
 */
const waitMs = 3_000

/** The room that one body has taken in the byte budget. */
export type BodyRoom = {
  /**
   * Takes room for the first `bytes` of the body, as sent or decoded. Resolves to false when there is none
   * within three seconds. A body that has the whole budget needs no more.
   */
  readonly cover: (bytes: number) => Promise<boolean>
  /** Gives all room of the body back. A second call does nothing. */
  readonly end: () => void
}

/** Creates the room of one body of `holder`. No bytes are taken yet. */
export function roomFor(budget: ByteBudget, holder: string): BodyRoom {
  let takenBytes = 0
  let ended = false

  async function cover(bytes: number): Promise<boolean> {
    const missing = Math.min(bytes - freeBytes, budget.bytesMax) - takenBytes
    if (missing <= 0) return true
    const more = Math.min(Math.max(stepBytes, missing), budget.bytesMax - takenBytes)
    if (!(await budget.take(holder, more, waitMs, takenBytes))) return false
    if (ended) {
      budget.give(holder, more)
      return false
    }
    takenBytes += more
    return true
  }

  function end(): void {
    ended = true
    if (takenBytes > 0) budget.give(holder, takenBytes)
    takenBytes = 0
  }

  return { cover, end }
}
