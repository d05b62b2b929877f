import type { AccountPace } from './accountPace.ts'
import { createAccountPace } from './accountPace.ts'
import { defined } from '../../domain/defined.ts'

/**
 * Shares the event loop between bodies that are read, images that are sent, and all other work of the process. A few
 * bytes of a compressed body can unpack to megabytes whose chunks are all there at once. Reading these chunks without
 * a pause would block every other request. Images are part of this because each request to S3 takes about a
 * millisecond of work, and hundreds of readers may ask at once.
 *
 * A turn is a stretch of about two milliseconds for work on bodies and images. Between two turns the event loop does
 * its other work. A body or image asks for a turn before each of its pieces (`pause`). The piece that has waited for
 * the turn begins it. A few further pieces, also of other bodies and images, may join the same turn. All bodies and
 * images share these turns, so a hundred of them block other work for no longer than one does.
 */
export type LoopTurns = {
  /**
   * Resolves when a body or image of the account may work on its next piece. It resolves at once and the piece joins
   * the current turn if three things are true: the turn is not over (`turnMsMax`), few pieces have asked in it
   * (`entriesMax`), and the pace of the account (`accountPace.ts`) lets it work now. If one of them is not true, the
   * piece waits and begins a later turn.
   *
   * The turns go from account to account, so many bodies of one account do not delay the body of another account.
   * An account that works much on large bodies and images while other accounts use the API waits longer.
   */
  readonly pause: (accountId: string, piece?: Piece) => Promise<void>
  /** Notes that the account has made a request with its API key, so that it counts as present. */
  readonly see: AccountPace['see']
}

export type Piece = {
  /**
   * The work that this piece costs outside of its turn, for example in a thread that decompresses it. It counts as
   * work of the account. Default 0.
   */
  readonly besidesMs?: number
  /**
   * What kind of image the piece belongs to. Each kind waits in a line of its own, so that the account's requests do
   * not wait behind it.
   *
   * - `download`: a reader downloads the image by its URL, without an API key. Hundreds of readers may wait.
   * - `paid_answer`: the image is in the first answer to a synchronous call. The account has paid for this image, so
   *   the pace neither counts this work nor delays it.
   *
   * Absent for a piece of a request body, and of an image in any other answer. Those of large bodies and of images wait
   * together in one line.
   */
  readonly image?: 'download' | 'paid_answer'
  /**
   * Whether the piece belongs to a request with a small body (`isSmallBody`), which costs about as much as a request
   * without a body. Such pieces wait in a line of their own, and the pace neither counts nor delays them. Otherwise an
   * account that submits much would be slowed down as soon as another account polls a task.
   */
  readonly ofSmallBody?: boolean
}

/**
 * How long a turn lasts. Every step of another request, such as an answer of PostgreSQL, may have to wait until the
 * current turn is over, so turns are short.
 */
const turnMsMax = 2

/**
 * Limit for the pauses that resolve at once in one turn. Many bodies can ask right after each other, before any of
 * them has worked. Each of them would find that the turn has just begun, and together they would work far longer than
 * `turnMsMax`.
 */
const entriesMax = 4

type Waiter = Piece & { readonly resume: () => void }
type Line = {
  readonly accountId: string
  readonly isPaced: boolean
  readonly waiters: Waiter[]
}

/** Creates the turns of one process. */
export function createLoopTurns(pace = createAccountPace()): LoopTurns {
  let startedAtMs = performance.now()
  let entries = 0
  let isScheduled = false
  let timer: NodeJS.Timeout | undefined
  let working: (Omit<Line, 'waiters'> & { readonly besidesMs: number }) | undefined
  // The bodies and images that wait for a turn. Each account has a line for its small bodies, one for its large bodies
  // and the images in answers, and one for each further kind of image. The next turn goes to the first line whose
  // account may work now (`delayOf` is 0). If others still wait in this line, the line then moves to the end.
  const waiting = new Map<string, Line>()

  function schedule(): void {
    if (isScheduled || waiting.size === 0) return
    clearTimeout(timer)
    const delayMs = Math.min(...[...waiting.values()].map(delayOf))
    if (delayMs > 0) {
      timer = setTimeout(schedule, Math.ceil(delayMs))
      return
    }
    isScheduled = true
    setImmediate(startNext)
    // Node calls this right after `startNext` and the microtasks that `startNext` causes, so right after the turn.
    setImmediate(endTurn)
  }

  function startNext(): void {
    const next = [...waiting].find(([, line]) => delayOf(line) === 0)
    if (next === undefined) return
    const [name, line] = next
    const { accountId, isPaced, waiters } = line
    waiting.delete(name)
    const body = waiters.shift()
    if (waiters.length > 0) waiting.set(name, line)
    startedAtMs = performance.now()
    entries = 0
    working = { accountId, isPaced, besidesMs: body?.besidesMs ?? 0 }
    body?.resume()
  }

  function endTurn(): void {
    if (working?.isPaced === true) {
      const { accountId, besidesMs } = working
      pace.charge(accountId, performance.now() - startedAtMs + besidesMs)
    }
    working = undefined
    isScheduled = false
    schedule()
  }

  /** Returns how long the line must wait before its next turn, in milliseconds. */
  function delayOf({ accountId, isPaced }: Pick<Line, 'accountId' | 'isPaced'>): number {
    return isPaced ? pace.delayMs(accountId) : 0
  }

  async function pause(accountId: string, piece: Piece = {}): Promise<void> {
    entries += 1
    const isYoung = entries <= entriesMax && performance.now() - startedAtMs <= turnMsMax
    const isPaced = countsForPace(piece)
    if (isYoung && delayOf({ accountId, isPaced }) === 0) {
      if (isPaced) pace.charge(accountId, piece.besidesMs ?? 0)
      // The turn began with a piece whose work counts for no account. From now on it counts for this account.
      if (isPaced && working?.isPaced === false) working = { accountId, isPaced, besidesMs: 0 }
      return
    }
    await new Promise<void>((resolve) => {
      enqueue(accountId, { ...piece, resume: resolve })
      schedule()
    })
  }

  function enqueue(accountId: string, waiter: Waiter): void {
    const isPaced = countsForPace(waiter)
    const name = `${accountId} ${waiter.image} ${isPaced}`
    const line = waiting.get(name) ?? { accountId, isPaced, waiters: [] }
    line.waiters.push(waiter)
    waiting.set(name, line)
  }

  return { pause, see: pace.see }
}

/** Returns whether the pace of the account counts and delays the piece. */
function countsForPace({ image, ofSmallBody }: Piece): boolean {
  return image !== 'paid_answer' && ofSmallBody !== true
}

/** Yields what `source` yields, and waits for a turn of the account before each piece. */
export async function* pullInTurns(
  turns: LoopTurns,
  accountId: string,
  source: AsyncIterable<Uint8Array>,
  image?: Piece['image'],
): AsyncGenerator<Uint8Array> {
  for await (const piece of source) {
    const besidesMs = (piece.length / (1024 * 1024)) * sendMsPerMiB
    await turns.pause(accountId, { besidesMs, ...defined({ image }) })
    yield piece
  }
}

/** The work for a mebibyte of an image outside of its turn: reading it from S3 and sending it. */
const sendMsPerMiB = 4
