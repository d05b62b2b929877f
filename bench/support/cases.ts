import { defined } from '../../src/domain/defined.ts'
import type { BenchWorld } from './benchWorld.ts'
import { describe, percentile, print, say } from './runBench.ts'

/** A measured value. Its goal holds for two cores with everything on one machine. */
export type Figure = {
  readonly name: string
  readonly value: number
  readonly unit: string
  readonly goal?: Goal
}
export type Goal = { readonly atLeast: number } | { readonly atMost: number }

export function figure(name: string, value: number, unit: string, goal?: Goal): Figure {
  return { name, value, unit, ...defined({ goal }) }
}

/** One part of `npm run bench`. */
export type BenchCase = {
  /** The name on the command line. */
  readonly name: string
  readonly title: string
  /** One round takes minutes. It is the only one, and `--quick` leaves the case out unless it is named. */
  readonly long?: true
  /**
   * Measures once. Within a round, a case alternates between the service and the bare floor that it is
   * compared with. Every round gives the same figures in the same order.
   */
  readonly round: (world: BenchWorld) => Promise<readonly Figure[]>
}

/** Runs the rounds of a case. Prints the median and spread of each figure, and whether its goal is met. */
export async function runCase(one: BenchCase, world: BenchWorld, rounds: number): Promise<void> {
  const seen: (readonly Figure[])[] = []
  while (seen.length < rounds) {
    say(`${one.name}, round ${seen.length + 1} of ${rounds}`)
    seen.push(await one.round(world))
  }
  print(`\n${one.title}`)
  for (const [n, { name, unit, goal }] of (seen[0] ?? []).entries()) {
    const values = seen.map((figures) => figures[n]?.value ?? Number.NaN)
    const [min, median, max] = [0, 0.5, 1].map((p) => percentile(values, p))
    const spread = min === max ? '' : ` (${describe(min ?? NaN)} to ${describe(max ?? NaN)})`
    const verdict = goal === undefined ? '' : `   ${judge(median ?? NaN, goal)}`
    print(`  ${name.padEnd(52)} ${describe(median ?? NaN)} ${unit}${spread}${verdict}`)
  }
}

function judge(value: number, goal: Goal): string {
  if ('atLeast' in goal) {
    return `${value >= goal.atLeast ? 'met' : 'MISSED'}: at least ${goal.atLeast}`
  }
  return `${value <= goal.atMost ? 'met' : 'MISSED'}: at most ${goal.atMost}`
}
