import { defined } from '../../src/domain/defined.ts'
import type { BenchWorld } from './benchWorld.ts'
import { describe, print, say } from './runBench.ts'

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
  /** It takes minutes, and `--quick` leaves it out unless it is named. */
  readonly long?: true
  readonly round: (world: BenchWorld) => Promise<readonly Figure[]>
}

/** Runs a case once. Prints each figure, and whether its goal is met. */
export async function runCase({ name, title, round }: BenchCase, world: BenchWorld): Promise<void> {
  say(name)
  const figures = await round(world)
  print(`\n${title}`)
  for (const { name, value, unit, goal } of figures) {
    const verdict = goal === undefined ? '' : `   ${judge(value, goal)}`
    print(`  ${name.padEnd(52)} ${describe(value)} ${unit}${verdict}`)
  }
}

function judge(value: number, goal: Goal): string {
  if ('atLeast' in goal) {
    return `${value >= goal.atLeast ? 'met' : 'MISSED'}: at least ${goal.atLeast}`
  }
  return `${value <= goal.atMost ? 'met' : 'MISSED'}: at most ${goal.atMost}`
}
