import DataLoader from 'dataloader'
import { DatabaseError } from 'pg'

/** Limit for the writes of one statement, which holds its locks until all of them are written. */
const writesMax = 32

/** A write waits at most this long for the statement under way, which may hang on a lost connection. */
const waitMsMax = 100

/** Makes several writes with the same key, and returns their results in the same order. */
export type WriteAll<Item, Written> = (
  items: readonly Item[],
) => Promise<readonly (Written | Error | Promise<Written>)[]>

/**
 * Returns a function that makes one write. Writes with the same key need the locks of the same rows. If each took them in
 * a transaction of its own, a busy machine would spend most of its time on handing locks over, and on waiting for the
 * disk under a lock. So while a statement of a key is under way, the writes of this key that come meanwhile wait, and
 * then share the next statement. A write that comes alone does not wait. Promises among the results are not waited for:
 * those writes are made alone, beside the next statement.
 *
 * When `write` throws, all of its writes fail. To fail one of them, it returns an error in the place of the result.
 */
export function joinWrites<Item, Written>(
  keyOf: (item: Item) => string,
  write: WriteAll<Item, Written>,
): (item: Item) => Promise<Written> {
  const lanes = new Map<string, { readonly add: (item: Item) => Promise<Written>; open: number }>()
  return async (item) => {
    const key = keyOf(item)
    const lane = lanes.get(key) ?? { add: openLane(write), open: 0 }
    lanes.set(key, lane)
    lane.open += 1
    try {
      return await lane.add(item)
    } finally {
      lane.open -= 1
      if (lane.open === 0) lanes.delete(key)
    }
  }
}

/** Joins the writes of one key. */
function openLane<Item, Written>(write: WriteAll<Item, Written>): (item: Item) => Promise<Written> {
  let underWay = 0
  let next: { readonly send: () => void; readonly timer: NodeJS.Timeout } | undefined

  function sendNext(): void {
    if (next === undefined) return
    const { send, timer } = next
    next = undefined
    clearTimeout(timer)
    underWay += 1
    send()
  }

  async function counted(items: readonly Item[]) {
    try {
      return await write(items)
    } finally {
      underWay -= 1
      if (underWay === 0) sendNext()
    }
  }

  const loader = new DataLoader<Item, Written | Promise<Written>>(counted, {
    cache: false,
    maxBatchSize: writesMax,
    batchScheduleFn: (send) => {
      if (underWay === 0) {
        underWay += 1
        return queueMicrotask(send)
      }
      // DataLoader begins a further batch when the one before it is full.
      sendNext()
      next = { send, timer: setTimeout(sendNext, waitMsMax) }
    },
  })
  return async (item) => loader.load(item)
}

/**
 * Makes each write again by a statement of its own when the values of one of them made PostgreSQL refuse the statement
 * for several, so that one cannot make the others fail. After every other error all of them fail: the statement may
 * have been committed, or each write would fail in the same way.
 */
export function apartWhenRefused<Item, Written>(
  write: (items: readonly Item[]) => Promise<readonly Written[]>,
): WriteAll<Item, Written> {
  async function writeAlone(item: Item): Promise<Written> {
    for (const written of await write([item])) return written
    throw new Error('Bug: a write returned no result')
  }
  return async (items) => {
    try {
      return await write(items)
    } catch (error) {
      if (items.length < 2 || !isRefusal(error)) throw error
      return items.map(writeAlone)
    }
  }
}

/** The classes of SQLSTATEs of values that are refused: data exceptions, and violated constraints. */
const refusalClasses = ['22', '23']

function isRefusal(error: unknown): boolean {
  return error instanceof DatabaseError && refusalClasses.includes(error.code?.slice(0, 2) ?? '')
}

/** Returns the row of each id in turn. Each row is returned once, even if an id is named twice. */
export function rowsInTurn<Row>(
  ids: readonly string[],
  rows: readonly Row[],
  idOf: (row: Row) => string,
): readonly (Row | undefined)[] {
  const left = new Map(rows.map((row) => [idOf(row), row]))
  return ids.map((id) => {
    const row = left.get(id)
    left.delete(id)
    return row
  })
}
