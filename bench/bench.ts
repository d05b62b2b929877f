/**
 * npm run bench [-- CASE…] [--quick] [--tasks N]
 *
 * Measures what a call costs. Goals hold for two cores with everything on one machine.
 */
import { parseArgs } from 'node:util'
import { door } from './cases/door.ts'
import { longHistory } from './cases/history.ts'
import { synchronous } from './cases/synchronous.ts'
import { fiftyInFlight, lookups, submits } from './cases/tasks.ts'
import { variants } from './cases/variants.ts'
import { neighbours } from './neighbours.ts'
import { runCases } from './support/benchWorld.ts'
import { chooseFrom } from './support/runBench.ts'

const cases = [
  ...synchronous,
  fiftyInFlight,
  submits,
  lookups,
  door,
  variants,
  neighbours,
  longHistory,
]

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: 'boolean', default: false }, tasks: { type: 'string' } },
})
const named = chooseFrom(
  cases.map(({ name }) => name),
  positionals,
)
const chosen = cases.filter(({ name, long }) =>
  named.length > 0 ? named.includes(name) : !(values.quick && long === true),
)
await runCases(
  chosen,
  values.quick,
  values.tasks === undefined ? {} : { tasks: Number(values.tasks) },
)
