/**
 * node bench/referee.ts HISTORY
 *
 * Judges a run by its history alone: what clients sent and got, what the upstream was asked and counts as paid, what the
 * receivers of webhooks saw, and what remains in the API, PostgreSQL and the bucket. It shares no code with the product. The exit code is 1
 * when a promise was broken, or when a long run has not tried one or has missed a rare state.
 */
import { readHistory } from './hosts/history.ts'
import { judge } from './referee/judge.ts'

const [path] = process.argv.slice(2)
if (path === undefined) {
  console.error('Which history? node bench/referee.ts HISTORY')
  process.exit(2)
}
const { verdicts, rare, sums, broken } = judge(readHistory(path))
const line = (verdict: string, count: number, what: string) =>
  console.log(`${verdict.padEnd(7)}${String(count).padStart(9)}  ${what}`)
for (const [what, count] of Object.entries(sums)) line('', count, what)
for (const { says, tried, broken: found } of verdicts)
  line(found.length > 0 ? 'BROKEN' : tried > 0 ? 'kept' : 'untried', tried, says)
for (const [state, times] of Object.entries(rare))
  line(times > 0 ? 'reached' : 'missed', times, state)
for (const one of broken) console.log(one)
process.exitCode = broken.length === 0 ? 0 : 1
