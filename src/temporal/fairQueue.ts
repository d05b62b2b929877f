type Queued = {
  readonly accountId: string
  /** A client holds a connection open for this item. */
  readonly sync: boolean
}

type FairQueue<Item extends Queued> = {
  readonly size: () => number
  /**
   * Adds an item. When the queue then holds more than `sizeMax`, it removes and returns the newest item of
   * the account with the most items, an asynchronous item if there is one.
   */
  readonly add: (item: Item) => Item | undefined
  /** Removes and returns the next item; `undefined` when the queue is empty. */
  readonly take: () => Item | undefined
  /** Removes and returns all items, in the order of `take`. */
  readonly drain: () => readonly Item[]
}

/**
 * A queue in which synchronous items go first and accounts take turns. In a plain first-in-first-out queue,
 * 2,000 submits of one account would delay the start of another account's task by about 5 seconds, because
 * Temporal starts some 400 workflows a second.
 */
export function createFairQueue<Item extends Queued>(sizeMax: number): FairQueue<Item> {
  const sync: Turns<Item> = new Map()
  const async: Turns<Item> = new Map()
  let size = 0

  function take(): Item | undefined {
    const item = takeNext(sync) ?? takeNext(async)
    if (item !== undefined) size -= 1
    return item
  }

  return {
    size: () => size,
    add: (item) => {
      const turns = item.sync ? sync : async
      const ofAccount = turns.get(item.accountId)
      if (ofAccount === undefined) turns.set(item.accountId, [item])
      else ofAccount.push(item)
      size += 1
      if (size <= sizeMax) return undefined
      size -= 1
      return dropFromLongest(async.size > 0 ? async : sync)
    },
    take,
    drain: () => {
      const items: Item[] = []
      for (let item = take(); item !== undefined; item = take()) items.push(item)
      return items
    },
  }
}

/** The items of each account, by account id. The first account of the map has the next turn. */
type Turns<Item> = Map<string, Item[]>

/** A map keeps insertion order: deleting and setting an account puts it behind the others. */
function takeNext<Item>(turns: Turns<Item>): Item | undefined {
  for (const [accountId, items] of turns) {
    const item = items.shift()
    turns.delete(accountId)
    if (items.length > 0) turns.set(accountId, items)
    return item
  }
  return undefined
}

function dropFromLongest<Item>(turns: Turns<Item>): Item | undefined {
  let longest: [string, Item[]] | undefined
  for (const entry of turns) {
    if (longest === undefined || entry[1].length > longest[1].length) longest = entry
  }
  if (longest === undefined) return undefined
  const [accountId, items] = longest
  if (items.length === 1) turns.delete(accountId)
  return items.pop()
}
