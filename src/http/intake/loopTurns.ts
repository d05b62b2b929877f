/**
 * Gives the event loop to other work while bodies are read and images are sent. A few bytes of a compressed body can unpack to
 * megabytes whose chunks are all there at once, and reading them without a pause would block every other
 * request. All bodies of the process share the turns, so many such bodies at once block no longer than one. So do
 * the pieces of images: each request to S3 takes about a millisecond, and hundreds of readers may ask at once.
 */
export type LoopTurns = {
  /**
   * Resolves at once for the first few while the current turn is young, else in a later turn of the event loop. Each turn goes to
   * one body. Accounts take turns, so many bodies of one account do not delay the body of another.
   */
  readonly pause: (accountId: string) => Promise<void>
}

/**
 * A turn that is older than this is over. Every step of another request, such as an answer of PostgreSQL, may
 * wait for one turn, so turns are short.
 */
const turnMsMax = 2

/**
 * Limit for the pauses that end at once in one turn. Many bodies can go on in the same microtasks: each then finds
 * a young turn, because none has worked yet.
 */
const entriesMax = 4

/** The turns of one process. */
export function createLoopTurns(): LoopTurns {
  let startedAtMs = performance.now()
  let entries = 0
  let isScheduled = false
  // The accounts in the order of their turns.
  const waiting = new Map<string, (() => void)[]>()

  function schedule(): void {
    if (isScheduled || waiting.size === 0) return
    isScheduled = true
    setImmediate(startNext)
  }

  function startNext(): void {
    isScheduled = false
    const [first] = waiting
    if (first === undefined) return
    const [accountId, bodies] = first
    waiting.delete(accountId)
    const resume = bodies.shift()
    if (bodies.length > 0) waiting.set(accountId, bodies)
    startedAtMs = performance.now()
    entries = 0
    resume?.()
    schedule()
  }

  async function pause(accountId: string): Promise<void> {
    entries += 1
    if (entries <= entriesMax && performance.now() - startedAtMs <= turnMsMax) return
    await new Promise<void>((resolve) => {
      const bodies = waiting.get(accountId)
      if (bodies === undefined) waiting.set(accountId, [resolve])
      else bodies.push(resolve)
      schedule()
    })
  }

  return { pause }
}

/** Yields what `source` yields. Pulls each piece in a turn of the account. */
export async function* pullInTurns(
  turns: LoopTurns,
  accountId: string,
  source: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  await turns.pause(accountId)
  for await (const piece of source) {
    yield piece
    await turns.pause(accountId)
  }
}
