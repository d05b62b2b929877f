/**
 * Limits the bytes that the bodies of one process take in memory: those of requests, and the answers of upstreams. Room
 * is taken while the bytes arrive, never for bytes that are only announced: otherwise a few slow connections could take
 * all of it and send nothing.
 */
export type ByteBudget = ReturnType<typeof createByteBudget>

/** The room that one body has taken. */
export type ByteRoom = ReturnType<ByteBudget['open']>

type Limits = {
  readonly bytesMax: number
  /** The first bytes of each body take no room. So a small body never waits behind large ones. */
  readonly freeBytes: number
  /** One account gets at most this part, so that its slow bodies leave room for others. Default: half. */
  readonly accountShareMax?: number
}

/** Room is taken in steps of this size, so that a body holds little more room than it has bytes. */
const stepBytes = 1024 * 1024

/** Long enough for a burst of large bodies. A client that waits in vain is told to come back. */
const waitMsDefault = 30_000

type Body = {
  readonly accountId: string
  takenBytes: number
  /** How many more bytes the body waits for. */
  wantedBytes: number
  /** Ends the wait. */
  answer: (hasRoom: boolean) => void
}

/**
 * Creates a budget. The oldest body may always go on, also beyond the budget, and the oldest of each account may go
 * beyond the share of its account. If every body had to wait until others end, bodies that each hold a part would wait
 * for each other.
 */
export function createByteBudget({ bytesMax, freeBytes, accountShareMax = 0.5 }: Limits) {
  /** The bodies that hold or want room, the oldest first. */
  const bodies = new Set<Body>()
  const takenBy = new Map<string, number>()
  let takenBytes = 0

  function take(body: Body, bytes: number): void {
    body.takenBytes += bytes
    takenBytes += bytes
    const ofAccount = (takenBy.get(body.accountId) ?? 0) + bytes
    if (ofAccount === 0) takenBy.delete(body.accountId)
    else takenBy.set(body.accountId, ofAccount)
  }

  /** Gives room to the bodies that want some, the oldest first. */
  function admit(): void {
    const seen = new Set<string>()
    for (const body of bodies) {
      const { accountId, wantedBytes } = body
      const isOldest = seen.size === 0
      const isOldestOfAccount = !seen.has(accountId)
      seen.add(accountId)
      if (wantedBytes === 0) continue
      const inShare = (takenBy.get(accountId) ?? 0) + wantedBytes <= bytesMax * accountShareMax
      const inBudget = takenBytes + wantedBytes <= bytesMax && (inShare || isOldestOfAccount)
      if (!isOldest && !inBudget) continue
      take(body, wantedBytes)
      body.answer(true)
    }
  }

  /** Returns the room of one body. No bytes are taken yet. */
  function open(accountId: string) {
    const body: Body = { accountId, takenBytes: 0, wantedBytes: 0, answer: () => {} }

    /**
     * Takes room until `bytes` bytes of the body are covered. Returns true when they are already. Otherwise waits at
     * most `waitMs` for room (`Infinity`: as long as it takes), and resolves to false when there is none in time, or
     * when `end` is called meanwhile.
     */
    function cover(bytes: number, waitMs = waitMsDefault): true | Promise<boolean> {
      const missingBytes = bytes - freeBytes - body.takenBytes
      if (missingBytes <= 0) return true
      const { promise, resolve } = Promise.withResolvers<boolean>()
      const timer = waitMs === Infinity ? undefined : setTimeout(() => body.answer(false), waitMs)
      body.answer = (hasRoom) => {
        clearTimeout(timer)
        body.wantedBytes = 0
        resolve(hasRoom)
      }
      body.wantedBytes = Math.max(missingBytes, stepBytes)
      bodies.add(body)
      admit()
      return promise
    }

    /** Gives all room back. A second call does nothing. */
    function end(): void {
      body.answer(false)
      take(body, -body.takenBytes)
      bodies.delete(body)
      admit()
    }

    return { cover, end }
  }

  return { open }
}
