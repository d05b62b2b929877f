/**
 * npm run bench [-- CASE…] [--quick] [--rounds N]
 *
 * Measures what a call costs, next to the least that each part could cost (bare Koa, bare Temporal, bare
 * PostgreSQL) on the same machine in the same run. Prints medians and spreads, and writes them to
 * `bench/results.json` and, as a chart, to `docs/img/bench.svg`. With `--quick` or named cases it writes
 * nothing. The exit code is 0 even when a goal is missed, because goals hold for one kind of machine; it is 1
 * when an answer was wrong.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { availableParallelism, cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { fiftyInFlight, hotAccount, submits } from './cases/asynchronous.ts'
import { longHistory } from './cases/history.ts'
import { largeEdits } from './cases/largeBodies.ts'
import { assets, lookups } from './cases/reads.ts'
import {
  forwardedShot,
  manyCallers,
  oneAtATime,
  twentyLarge,
  twentySmall,
  twoOfEach,
} from './cases/synchronous.ts'
import { generationShot } from './cases/tasks.ts'
import { deadReceiver } from './cases/webhooks.ts'
import type { BenchCase, Figures, Measured } from './support/benchCase.ts'
import { summarize } from './support/benchCase.ts'
import { openBenchWorld } from './support/benchWorld.ts'
import { describe, drawChart } from './support/chart.ts'
import { loadOf } from './support/load.ts'
import { runBench } from './support/runBench.ts'

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
  largeEdits,
  longHistory,
]

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean', default: false },
    rounds: { type: 'string' },
  },
})
const unknown = positionals.filter((name) => !cases.some((one) => one.name === name))
if (unknown.length > 0) {
  process.stderr.write(
    `No case ${unknown.join(', ')}. Cases: ${cases.map(({ name }) => name).join(', ')}\n`,
  )
  process.exit(2)
}
const chosen = cases.filter((one) =>
  positionals.length > 0 ? positionals.includes(one.name) : !(values.quick && one.long === true),
)
const rounds = Number(values.rounds ?? (values.quick ? 1 : 3))

/**
 * Calls of Darkroom and of the forwarder before the first case. V8 compiles for thousands of calls: after 1,000 of them,
 * the rate still rose by 17 to 27 % within half a minute in four of five runs. A service runs for weeks.
 */
const warmUp = values.quick ? 200 : 3_000

/** Progress goes to the terminal and replaces itself; elsewhere it is plain lines. */
function say(line: string): void {
  process.stderr.write(process.stderr.isTTY ? `\r\u001b[K${line}` : `${line}\n`)
}

await runBench(async ({ stack }) => {
  const world = await openBenchWorld({ stack, quick: values.quick, say })
  const measured: Measured[] = []
  try {
    say('warming up')
    await loadOf(warmUp, 20, generationShot(world.service))
    await loadOf(warmUp, 20, forwardedShot(world, 'small'))
    for (const [n, one] of chosen.entries()) {
      const seen: Figures[] = []
      for (let round = 1; round <= (one.long === true ? 1 : rounds); round += 1) {
        say(`case ${n + 1} of ${chosen.length}, ${one.name}, round ${round}`)
        seen.push(await one.round(world))
      }
      if (process.stderr.isTTY) process.stderr.write('\r\u001b[K')
      const figures = summarize(one, seen)
      measured.push(...figures)
      process.stdout.write(`\n${one.title}\n`)
      for (const figure of figures) process.stdout.write(`  ${lineOf(figure)}\n`)
    }
  } finally {
    await world.close()
  }
  const goals = measured.filter(({ met }) => met !== undefined)
  process.stdout.write(`\n${goals.filter(({ met }) => met).length} of ${goals.length} goals met\n`)
  if (!values.quick && positionals.length === 0) await writeResults(measured)
})

function lineOf({ figure, median, min, max, unit, goal, met }: Measured): string {
  const spread = min === max ? '' : ` (${describe(min)} to ${describe(max)})`
  const text = `${figure.padEnd(44)} ${describe(median)} ${unit}${spread}`
  if (goal === undefined) return text
  const wanted = 'atLeast' in goal ? `at least ${goal.atLeast}` : `at most ${goal.atMost}`
  return `${text}   ${met === true ? 'met' : 'MISSED'}: ${wanted}`
}

async function writeResults(figures: readonly Measured[]): Promise<void> {
  const machine = `${cpus()[0]?.model ?? 'unknown'}, ${availableParallelism()} cores`
  const results = { measuredAt: new Date().toISOString(), machine, node: process.version, figures }
  const root = new URL('../', import.meta.url)
  await writeFile(new URL('bench/results.json', root), `${JSON.stringify(results, null, 2)}\n`)
  await mkdir(new URL('docs/img/', root), { recursive: true })
  await writeFile(new URL('docs/img/bench.svg', root), drawChart(figures))
}
