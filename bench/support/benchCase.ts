import type { BenchWorld } from './benchWorld.ts'

/** What a case measures under one name. */
export type FigureKind = {
  readonly unit: 'ms' | 'per s' | 'MB/s' | 'x' | 'MiB' | 'answers'
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
  /** One round takes minutes, so `--quick` leaves the case out unless it is named. */
  readonly long?: true
  /**
   * Measures once. Most cases are measured several times, and their medians reported. Within a round, a case
   * alternates between the service and the bare floor that it is compared with.
   */
  readonly round: (world: BenchWorld) => Promise<Figures>
}

/** Returns a line for each figure of a case: its median, its spread, and whether its goal is met. */
export function describeRounds(one: BenchCase, rounds: readonly Figures[]): readonly string[] {
  return Object.entries(one.figures).flatMap(([figure, { unit, goal }]) => {
    const values = rounds.flatMap((round) => round[figure] ?? []).toSorted((a, b) => a - b)
    const [min, median, max] = [values[0], values[values.length >> 1], values.at(-1)]
    if (min === undefined || median === undefined || max === undefined) return []
    const spread = min === max ? '' : ` (${describe(min)} to ${describe(max)})`
    const text = `${figure.padEnd(58)} ${describe(median)} ${unit}${spread}`
    if (goal === undefined) return [text]
    if ('atLeast' in goal) {
      return [`${text}   ${median >= goal.atLeast ? 'met' : 'MISSED'}: at least ${goal.atLeast}`]
    }
    return [`${text}   ${median <= goal.atMost ? 'met' : 'MISSED'}: at most ${goal.atMost}`]
  })
}

/** Writes a figure with three digits or more. */
function describe(value: number): string {
  return Number.isInteger(value) || Math.abs(value) >= 100 ? value.toFixed(0) : value.toPrecision(3)
}
