/**
 * npm run bench [-- CASE…] [--quick] [--limits]
 *
 * Measures what a call costs. The exit code is 0 even when a goal is missed,
 * because goals hold for one kind of machine; it is 1 when an answer was wrong.
 * With --limits the account of the shared service has limits, which it does not reach.
 */
import { parseArgs } from 'node:util'
import { door } from './cases/door.ts'
import { longHistory } from './cases/history.ts'
import { synchronous } from './cases/synchronous.ts'
import { assets, fiftyInFlight, lookups, submits } from './cases/tasks.ts'
import { neighbours } from './neighbours.ts'
import { withWorld } from './support/benchWorld.ts'
import { runCase } from './support/cases.ts'
import { chooseFrom, runBench } from './support/runBench.ts'

const cases = [
  ...synchronous,
  fiftyInFlight,
  submits,
  lookups,
  assets,
  door,
  neighbours,
  longHistory,
]

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean', default: false },
    limits: { type: 'boolean', default: false },
  },
})
const { quick, limits } = values
const named = chooseFrom(
  cases.map(({ name }) => name),
  positionals,
)
const chosen = cases.filter(({ name, long }) =>
  named.length > 0 ? named.includes(name) : !(quick && long === true),
)

await runBench((bench) =>
  withWorld(bench, { quick, limits }, async (world) => {
    for (const one of chosen) await runCase(one, world)
  }),
)
