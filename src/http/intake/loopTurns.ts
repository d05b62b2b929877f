import type { AccountPace } from './accountPace.ts'
import { createAccountPace } from './accountPace.ts'

/**
 * Gives the event loop to other work while bodies are read and images are sent. A few bytes of a compressed body can unpack to
 * megabytes whose chunks are all there at once, and reading them without a pause would block every other
 * request. All bodies of the process share the turns, so many such bodies at once block no longer than one. So do
 * the pieces of images: each request to S3 takes about a millisecond, and hundreds of readers may ask at once.
 */
export type LoopTurns = {
  /**
   * Resolves at once for the first few while the current turn is young, else in a later turn of the event loop. Each turn goes to
   * one body. Accounts take turns, so many bodies of one account do not delay the body of another. While other
   * accounts use the API, an account that works much also waits: see `accountPace.ts`.
   */
  readonly pause: (accountId: string, piece?: Piece) => Promise<void>
  /** Notes that the account has made a request with its API key. */
  readonly see: AccountPace['see']
}

export type Piece = {
  /** The work for this piece outside of its turn, for example until its bytes are there. Default 0. */
  readonly besidesMs?: number
  /**
   * The piece belongs to an image that anybody reads by its URL. Such pieces wait in a line of their own, because
   * hundreds of readers may wait, and requests with the API key of the account would wait behind them.
   */
  readonly isDownload?: boolean
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

type Waiter = Piece & { readonly resume: () => void }
type Line = { readonly accountId: string; readonly waiters: Waiter[] }

/** The turns of one process. */
export function createLoopTurns(pace = createAccountPace()): LoopTurns {
  let startedAtMs = performance.now()
  let entries = 0
  let isScheduled = false
  let timer: NodeJS.Timeout | undefined
  let working: { readonly accountId: string; readonly besidesMs: number } | undefined
  // The lines of the accounts, in the order of their turns.
  const waiting = new Map<string, Line>()

  function schedule(): void {
    if (isScheduled || waiting.size === 0) return
    clearTimeout(timer)
    const lines = [...waiting.values()]
    const delayMs = Math.min(...lines.map(({ accountId }) => pace.delayMs(accountId)))
    if (delayMs > 0) {
      timer = setTimeout(schedule, Math.ceil(delayMs))
      return
    }
    isScheduled = true
    setImmediate(startNext)
    // Runs right after the turn and its microtasks, before anything else does.
    setImmediate(endTurn)
  }

  function startNext(): void {
    const next = [...waiting].find(([, { accountId }]) => pace.delayMs(accountId) === 0)
    if (next === undefined) return
    const [name, line] = next
    const { accountId, waiters } = line
    waiting.delete(name)
    const body = waiters.shift()
    if (waiters.length > 0) waiting.set(name, line)
    startedAtMs = performance.now()
    entries = 0
    working = { accountId, besidesMs: body?.besidesMs ?? 0 }
    body?.resume()
  }

  function endTurn(): void {
    if (working !== undefined) {
      const { accountId, besidesMs } = working
      pace.charge(accountId, performance.now() - startedAtMs + besidesMs)
    }
    working = undefined
    isScheduled = false
    schedule()
  }

  async function pause(accountId: string, piece: Piece = {}): Promise<void> {
    entries += 1
    const isYoung = entries <= entriesMax && performance.now() - startedAtMs <= turnMsMax
    if (isYoung && pace.delayMs(accountId) === 0) {
      return pace.charge(accountId, piece.besidesMs ?? 0)
    }
    await new Promise<void>((resolve) => {
      enqueue(accountId, { ...piece, resume: resolve })
      schedule()
    })
  }

  function enqueue(accountId: string, waiter: Waiter): void {
    const name = waiter.isDownload === true ? `${accountId} downloads` : accountId
    const line = waiting.get(name) ?? { accountId, waiters: [] }
    line.waiters.push(waiter)
    waiting.set(name, line)
  }

  return { pause, see: pace.see }
}

/** Yields what `source` yields. Pulls each piece in a turn of the account. */
export async function* pullInTurns(
  turns: LoopTurns,
  accountId: string,
  source: AsyncIterable<Uint8Array>,
  isDownload = false,
): AsyncGenerator<Uint8Array> {
  await turns.pause(accountId, { isDownload })
  for await (const piece of source) {
    yield piece
    const besidesMs = (piece.length / (1024 * 1024)) * sendMsPerMiB
    await turns.pause(accountId, { besidesMs, isDownload })
  }
}

/** The time for reading a mebibyte from S3 and for sending it, outside of turns. */
const sendMsPerMiB = 4
