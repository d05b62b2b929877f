/**
 * npm run bench [-- CASE…] [--quick] [--rounds N]
 *
 * Measures what a call costs, next to the least that each part could cost (bare Koa, bare Temporal, bare
 * PostgreSQL) on the same machine in the same run. Prints medians and spreads. The exit code is 0 even when a
 * goal is missed, because goals hold for one kind of machine; it is 1 when an answer was wrong.
 */
import { parseArgs } from 'node:util'
import { door } from './cases/door.ts'
import { longHistory } from './cases/history.ts'
import { assets, lookups } from './cases/reads.ts'
import {
  deadReceiver,
  manyCallers,
  oneAtATime,
  slowModel,
  twentyLarge,
  twentySmall,
  twoOfEach,
} from './cases/synchronous.ts'
import { fiftyInFlight, hotAccount, submits } from './cases/tasks.ts'
import { neighbours } from './neighbours.ts'
import type { BenchCase, Figures } from './support/benchCase.ts'
import { describeRounds } from './support/benchCase.ts'
import { openBenchWorld } from './support/benchWorld.ts'
import { print, runBench } from './support/runBench.ts'

const cases: readonly BenchCase[] = [
  oneAtATime,
  twentySmall,
  twentyLarge,
  manyCallers,
  twoOfEach,
  deadReceiver,
  fiftyInFlight,
  submits,
  hotAccount,
  lookups,
  assets,
  door,
  slowModel,
  neighbours,
  longHistory,
]

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: 'boolean', default: false }, rounds: { type: 'string' } },
})
const unknown = positionals.filter((name) => !cases.some((one) => one.name === name))
if (unknown.length > 0) {
  const names = cases.map(({ name }) => name).join(', ')
  process.stderr.write(`No case ${unknown.join(', ')}. Cases: ${names}\n`)
  process.exit(2)
}
const chosen = cases.filter((one) =>
  positionals.length > 0 ? positionals.includes(one.name) : !(values.quick && one.long === true),
)

await runBench(async ({ pidOf }) => {
  const say = (line: string) => void process.stderr.write(`${line}\n`)
  const world = await openBenchWorld({ quick: values.quick, say, pidOf })
  const lines: string[] = []
  try {
    for (const one of chosen) {
      const rounds = Number(values.rounds ?? (values.quick || one.long === true ? 1 : 3))
      const seen: Figures[] = []
      for (let round = 1; round <= rounds; round += 1) {
        say(`${one.name}, round ${round} of ${rounds}`)
        seen.push(await one.round(world))
      }
      const described = describeRounds(one, seen)
      lines.push(...described)
      print(`\n${one.title}`)
      for (const line of described) print(`  ${line}`)
    }
  } finally {
    await world.close()
  }
  const met = lines.filter((line) => line.includes(' met: ')).length
  const missed = lines.filter((line) => line.includes(' MISSED: ')).length
  print(`\n${met} of ${met + missed} goals met`)
})
