import { mkdtemp, rm } from 'node:fs/promises'
import { loadavg, tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { useStack } from '../../test/support/stack/embeddedStack.ts'
import { spawnStart } from '../../test/support/stack/spawnStart.ts'
import { processTree, signal } from './processes.ts'

export type Goal = { readonly atLeast?: number; readonly atMost?: number }

/** What a command of bench/ gets. */
export type Bench = {
  /** Prints a measured value, and whether it is within its goal. The command exits 1 when one is not. */
  readonly figure: (name: string, value: number, unit?: string, goal?: Goal) => void
  /** The process id of the newest PostgreSQL or Temporal server, or 0 while there is none. */
  readonly pidOf: (part: 'postgres' | 'temporal') => number
}

const progressMs = 10_000
/** Long enough for a machine on which Temporal's programs must be built. */
const startMsMax = 15 * 60_000
const stopMsMax = 60_000

/**
 * Runs a command of bench/ on the PostgreSQL and Temporal of an `npm start`, on free ports and with its data
 * in a temporary folder on disk. Prints the load. The exit code is 1 when a goal was missed.
 */
export async function runBench(work: (bench: Bench) => Promise<void>): Promise<void> {
  process.once('exit', () => {
    for (const { pid } of processTree(process.pid).slice(1)) signal(pid, 'SIGTERM')
  })
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(name, () => process.exit(1))
  console.log(`load average at the start: ${(loadavg()[0] ?? 0).toFixed(2)}`)
  const startedAtMs = performance.now()
  const progress = setInterval(() => {
    const seconds = Math.round((performance.now() - startedAtMs) / 1000)
    console.error(`[${basename(process.argv[1] ?? '')}] still running, ${seconds} s`)
  }, progressMs)
  let broken = 0
  const figure: Bench['figure'] = (name, value, unit = '', goal = {}) => {
    const { atLeast, atMost } = goal
    const kept = value >= (atLeast ?? -Infinity) && value <= (atMost ?? Infinity)
    if (!kept) broken += 1
    const bounds = [
      ...(atLeast === undefined ? [] : [`at least ${describe(atLeast)}`]),
      ...(atMost === undefined ? [] : [`at most ${describe(atMost)}`]),
    ]
    const verdict = bounds.length === 0 ? '' : kept ? 'kept' : 'BROKEN'
    const shown = [`${describe(value)} ${unit}`.trimEnd(), ...bounds].join(', ')
    console.log(`${verdict.padEnd(6)}  ${name.padEnd(52)} ${shown}`)
  }
  const folder = await mkdtemp(join(tmpdir(), 'darkroom-bench-'))
  const start = await spawnStart(join(folder, 'data'), join(folder, 'start.log'))
  const environment = await start.ready(startMsMax)
  const { DATABASE_URL: databaseUrl = '', TEMPORAL_ADDRESS: temporalAddress = '' } = environment
  useStack({ databaseUrl, temporalAddress })
  try {
    await work({ figure, pidOf: start.partPid })
  } finally {
    clearInterval(progress)
    await start.stop(stopMsMax)
    await rm(folder, { recursive: true, force: true })
  }
  process.exitCode = broken === 0 ? 0 : 1
}

/** Returns the names of a command line. Ends the process with the exit code 2 when one is unknown. */
export function chooseFrom(known: readonly string[], asked: readonly string[]): readonly string[] {
  const unknown = asked.filter((name) => !known.includes(name))
  if (unknown.length > 0) {
    console.error(`Unknown: ${unknown.join(', ')}. There are: ${known.join(', ')}`)
    process.exit(2)
  }
  return asked
}

/** Returns the nearest-rank percentile of the sample for `p` from 0 to 1, or NaN for an empty sample. */
export function percentile(sample: readonly number[], p: number): number {
  const sorted = sample.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(p * sorted.length) - 1)] ?? Number.NaN
}

/** Describes a sample of milliseconds in one line. */
export function describeMs(name: string, sample: readonly number[]): string {
  const [p50, p95, p99, max] = [0.5, 0.95, 0.99, 1].map((p) => describe(percentile(sample, p)))
  return `${name}: n ${sample.length}, p50 ${p50}, p95 ${p95}, p99 ${p99}, max ${max} ms`
}

/** Writes a figure with three digits or more. */
export function describe(value: number): string {
  return Number.isInteger(value) || Math.abs(value) >= 100 ? value.toFixed(0) : value.toPrecision(3)
}
