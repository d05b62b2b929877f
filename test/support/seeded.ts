export type Seeded = ReturnType<typeof createSeeded>

/** Pseudo-random choices by Mulberry32: the same seed gives the same choices. */
export function createSeeded(seed: number) {
  let state = seed >>> 0
  /** A number in [0, 1). */
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  /** An integer from `least` to `most`, both included. */
  const between = (least: number, most: number) => least + Math.floor(next() * (most - least + 1))
  return {
    next,
    between,
    /** True with the probability `share`. */
    chance: (share: number) => next() < share,
    pick: <Item>(items: readonly Item[]): Item => {
      const item = items[between(0, items.length - 1)]
      if (item === undefined) throw new Error('nothing to pick from')
      return item
    },
  }
}
