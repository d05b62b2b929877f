import type { Facts } from './facts.ts'

/** What a promise is worth in one history. */
export type Verdict = {
  readonly says: string
  /** How many things of the history could have broken it. */
  readonly tried: number
  readonly broken: readonly string[]
}

export type Promised = { readonly says: string; readonly judge: (facts: Facts) => Verdict }

/** Makes a promise. `about` returns what could break it, and `broken` what is wrong with one of these. */
export function promise<One>(
  says: string,
  about: (facts: Facts) => Iterable<One>,
  broken: (one: One, facts: Facts) => Iterable<string>,
): Promised {
  const judge = (facts: Facts) => {
    const all = [...about(facts)]
    return { says, tried: all.length, broken: all.flatMap((one) => [...broken(one, facts)]) }
  }
  return { says, judge }
}
