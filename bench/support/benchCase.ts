import type { BenchWorld } from './benchWorld.ts'

/** What a case measures under one name. */
export type FigureKind = {
  readonly unit: 'ms' | 'per s' | 'x' | 'MiB'
  /** The goal on two cores with everything on one machine. Absent for figures that only explain others. */
  readonly goal?: { readonly atLeast: number } | { readonly atMost: number }
}

/** Some figures, by name. A round may leave figures out. */
export type Figures = Readonly<Record<string, number>>

/** One part of `npm run bench`. */
export type BenchCase = {
  /** The name on the command line. */
  readonly name: string
  readonly title: string
  readonly figures: Readonly<Record<string, FigureKind>>
  /** The case takes minutes, so `--quick` leaves it out. */
  readonly long?: true
  /**
   * Measures once. The harness calls it several times and reports medians. Within a round, a case alternates
   * between the service and the bare floor that it is compared with.
   */
  readonly round: (world: BenchWorld) => Promise<Figures>
}

/** The result of all rounds for one figure. */
export type Measured = FigureKind & {
  readonly case: string
  readonly figure: string
  readonly median: number
  readonly min: number
  readonly max: number
  readonly met?: boolean
}

/** Summarizes the rounds of a case: the median and the spread of each figure, and whether its goal is met. */
export function summarize(one: BenchCase, rounds: readonly Figures[]): readonly Measured[] {
  return Object.entries(one.figures).flatMap(([figure, kind]) => {
    const values = rounds
      .map((round) => round[figure])
      .filter((value) => value !== undefined)
      .toSorted((a, b) => a - b)
    const [min, median, max] = [values[0], values[values.length >> 1], values.at(-1)]
    if (min === undefined || median === undefined || max === undefined) return []
    const met = kind.goal === undefined ? {} : { met: isMet(kind.goal, median) }
    return [{ case: one.name, figure, ...kind, median, min, max, ...met }]
  })
}

function isMet(goal: NonNullable<FigureKind['goal']>, value: number): boolean {
  return 'atLeast' in goal ? value >= goal.atLeast : value <= goal.atMost
}
