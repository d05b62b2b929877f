import { mkdtemp, rm } from 'node:fs/promises'
import { loadavg, tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { freePortRow } from '../../test/support/ports.ts'
import { useStack } from '../../test/support/stack/embeddedStack.ts'
import { npmStart, portsOfStart } from './npmStart.ts'
import { processTree, signalAll } from './processes.ts'

/** Prints a promise with its figure. The command exits 1 when a promise is not kept. */
export type Check = (promise: string, kept: boolean) => void

/** What every command gets. */
export type Bench = {
  readonly check: Check
  /** The process ids of the newest PostgreSQL or Temporal server of the stack. */
  readonly pidOf: (part: StackPart) => number
}

export type StackPart = 'postgres' | 'temporal'

const programs = { postgres: 'postgres', temporal: 'temporal-server' } as const
const progressMs = 10_000

/**
 * Runs a command of bench/ on the PostgreSQL and Temporal of an `npm start`, on free ports and with its data in
 * a temporary folder on disk. Prints the load, and sets the exit code: 0 when every promise was kept, else 1.
 */
export async function runBench(work: (bench: Bench) => Promise<void>): Promise<void> {
  process.once('exit', () => {
    const [, ...descendants] = processTree(process.pid)
    signalAll(
      descendants.map(({ pid }) => pid),
      'SIGTERM',
    )
  })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => process.exit(1))
  }
  print(`load average at the start: ${(loadavg()[0] ?? 0).toFixed(2)}`)
  const name = basename(process.argv[1] ?? 'bench')
  const startedAtMs = performance.now()
  const progress = setInterval(() => {
    const seconds = Math.round((performance.now() - startedAtMs) / 1000)
    process.stderr.write(`[${name}] still running, ${seconds} s\n`)
  }, progressMs)
  let broken = 0
  const check: Check = (promise, kept) => {
    if (!kept) broken += 1
    print(`${kept ? 'kept  ' : 'BROKEN'}  ${promise}`)
  }
  const folder = await mkdtemp(join(tmpdir(), 'darkroom-bench-'))
  const start = await npmStart(folder, await freePortRow(portsOfStart))
  const { DATABASE_URL: databaseUrl = '', TEMPORAL_ADDRESS: temporalAddress = '' } =
    start.environment
  useStack({ databaseUrl, temporalAddress })
  const pidOf = (part: StackPart) => {
    const found = processTree(start.pid).find(({ program }) => program === programs[part])
    return found?.pid ?? 0
  }
  try {
    await work({ check, pidOf })
  } finally {
    clearInterval(progress)
    await start.stop()
    await rm(folder, { recursive: true, force: true })
  }
  process.exitCode = broken === 0 ? 0 : 1
}

/** Prints one line of the report. */
export function print(line: string): void {
  process.stdout.write(`${line}\n`)
}

/** Returns the nearest-rank percentile of the sample for `p` from 0 to 1, or NaN for an empty sample. */
export function percentile(sample: readonly number[], p: number): number {
  const sorted = sample.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(p * sorted.length) - 1)] ?? Number.NaN
}

/** Describes a sample of milliseconds in one line. */
export function describeMs(name: string, sample: readonly number[]): string {
  const parts = [0.5, 0.95, 0.99].map((p) => `p${p * 100} ${percentile(sample, p).toFixed(1)} ms`)
  return `${name}: n ${sample.length}, ${parts.join(', ')}, max ${percentile(sample, 1).toFixed(1)} ms`
}
