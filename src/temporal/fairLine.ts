/** What waits for its turn: which account it is of, and whether a client holds a connection open for it. */
type InLine = { readonly accountId: string; readonly sync: boolean }

/**
 * A line in which synchronous calls go first and every account has its turn: one account's thousand do
 * not stand before another's one (design 1.14).
 */
type FairLine<Item extends InLine> = {
  readonly size: () => number
  /** Beyond `sizeMax` the last of the account with the most in line has to leave: it is given back. */
  readonly add: (item: Item) => Item | undefined
  readonly take: () => Item | undefined
  /** Empties the line. */
  readonly drain: () => readonly Item[]
}

type Turns<Item> = Map<string, Item[]>

export function createFairLine<Item extends InLine>(sizeMax: number): FairLine<Item> {
  const turnsOf = { sync: new Map<string, Item[]>(), async: new Map<string, Item[]>() }
  let size = 0

  function evict(): Item | undefined {
    size -= 1
    return popLongest(turnsOf.async.size > 0 ? turnsOf.async : turnsOf.sync)
  }

  function take(): Item | undefined {
    const item = shiftNext(turnsOf.sync) ?? shiftNext(turnsOf.async)
    if (item !== undefined) size -= 1
    return item
  }

  return {
    size: () => size,
    add: (item) => {
      const turns = item.sync ? turnsOf.sync : turnsOf.async
      const ofAccount = turns.get(item.accountId)
      if (ofAccount === undefined) turns.set(item.accountId, [item])
      else ofAccount.push(item)
      size += 1
      return size > sizeMax ? evict() : undefined
    },
    take,
    drain: () => {
      const items: Item[] = []
      for (let item = take(); item !== undefined; item = take()) items.push(item)
      return items
    },
  }
}

/** A map keeps insertion order: who has had a turn is put behind the others. */
function shiftNext<Item>(turns: Turns<Item>): Item | undefined {
  for (const [accountId, items] of turns) {
    const item = items.shift()
    turns.delete(accountId)
    if (items.length > 0) turns.set(accountId, items)
    return item
  }
  return undefined
}

function popLongest<Item>(turns: Turns<Item>): Item | undefined {
  let longest: [string, Item[]] | undefined
  for (const entry of turns) {
    if (longest === undefined || entry[1].length > longest[1].length) longest = entry
  }
  if (longest === undefined) return undefined
  const [accountId, items] = longest
  if (items.length === 1) turns.delete(accountId)
  return items.pop()
}
