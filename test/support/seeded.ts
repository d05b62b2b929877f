/** Pseudo-random choices: the same seed gives the same choices. */
export type Seeded = {
  /** A number in [0, 1). */
  readonly next: () => number
  /** An integer from `least` to `most`, both included. */
  readonly between: (least: number, most: number) => number
  /** True with the probability `share`. */
  readonly chance: (share: number) => boolean
  readonly pick: <Item>(items: readonly Item[]) => Item
}

/** Mulberry32: 32 bits of state are enough to choose faults. */
export function createSeeded(seed: number): Seeded {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const between = (least: number, most: number) => least + Math.floor(next() * (most - least + 1))
  return {
    next,
    between,
    chance: (share) => next() < share,
    pick: (items) => {
      const item = items[between(0, items.length - 1)]
      if (item === undefined) throw new Error('nothing to pick from')
      return item
    },
  }
}
