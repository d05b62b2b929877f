/**
 * Limits the bytes that are under way in a process at the same time, for all accounts together. There are separate
 * budgets for large bodies that are received, for their texts, for assets that are sent, and for requests that are
 * sent upstream. One account (the holder) gets at most three quarters of a budget, or `holderShareMax` of it. Without
 * this share, a single account with many slow bodies could block all others.
 */
export type ByteBudget = {
  /**
   * Resolves to true when the bytes are taken, and to false when there is no room for them within `waitMs`. Work that
   * asks for more than the whole budget gets the whole budget. `alreadyBytes` is what the same work has taken before,
   * default 0.
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

/** Creates a budget of `bytesMax` bytes. All of them are free at the start. */
export function createByteBudget(bytesMax: number, holderShareMax = 0.75): ByteBudget {
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
   * Whether this work would take more than the share of its holder. If the holder has no other work under way, the
   * work may take any number of bytes.
   */
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
   * Admits waiters in the order of their arrival, so that small waiters cannot make a large waiter wait forever. A
   * waiter that would exceed the share of its holder is skipped, and the waiters behind it may go first.
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
 * Work takes no room for its first bytes up to this size. So a request with only a prompt needs no room, and does not
 * have to wait behind large requests.
 */
export const freeBytes = 256 * 1024

/**
 * Room is taken in steps of at least this size. A step is small, so a body holds little more room than it has bytes.
 */
const stepBytes = 1024 * 1024

/** The room that one body or request has taken in a byte budget. */
export type ByteRoom = {
  /**
   * Takes room until `bytes` bytes of this body or request are covered. Resolves to false when there is no room in
   * time, or when `end` is called meanwhile. A body that has taken the whole budget counts as covered, however large
   * it is.
   */
  readonly cover: (bytes: number) => Promise<boolean>
  /** Gives all room back. A second call does nothing. */
  readonly end: () => void
}

/**
 * How long a body waits for room. Long enough for a short burst of large bodies. When the wait has been in vain, the
 * client gets a 429 with a Retry-After.
 */
const bodyWaitMs = 3_000

/**
 * Creates the room of one body or request of `holder`, which waits at most `waitMs` whenever it needs more.
 * No bytes are taken yet.
 */
export function roomFor(budget: ByteBudget, holder: string, waitMs = bodyWaitMs): ByteRoom {
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
