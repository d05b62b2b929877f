import { mkdtemp, rm } from 'node:fs/promises'
import { loadavg, tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { withProgress } from '../../src/cli/progress.ts'
import { stackStartMsMax, useStack } from '../../test/support/stack/embeddedStack.ts'
import { spawnStart } from '../../test/support/stack/spawnStart.ts'

/** The PostgreSQL and Temporal of a command. */
export type Stack = {
  readonly databaseUrl: string
  readonly temporalAddress: string
  /** The process ids of PostgreSQL and of Temporal. */
  readonly pids: () => readonly number[]
}

/** Prints a promise with its figure. The command exits 1 when a promise is not kept. */
export type Check = (promise: string, kept: boolean) => void

/**
 * Runs a command of bench/ on its own PostgreSQL and Temporal, with free ports and a temporary folder, and
 * sets the exit code as `checkPromises` does.
 */
export async function runBench(
  work: (bench: { readonly stack: Stack; readonly check: Check }) => Promise<void>,
): Promise<void> {
  await checkPromises(async (check) => {
    const dataDir = await mkdtemp(join(tmpdir(), 'darkroom-bench-'))
    const start = await spawnStart(dataDir)
    try {
      const environment = await start.ready(stackStartMsMax)
      const { DATABASE_URL: databaseUrl = '', TEMPORAL_ADDRESS: temporalAddress = '' } = environment
      useStack({ databaseUrl, temporalAddress })
      await work({ stack: { databaseUrl, temporalAddress, pids: start.partPids }, check })
    } finally {
      start.signal('SIGTERM')
      await start.ended
      await rm(dataDir, { recursive: true, force: true })
    }
  })
}

/** Prints the load, runs `work` and sets the exit code: 0 when it kept every promise, otherwise 1. */
export async function checkPromises(work: (check: Check) => Promise<void>): Promise<void> {
  let broken = 0
  process.stdout.write(`load average at the start: ${(loadavg()[0] ?? 0).toFixed(2)}\n`)
  // On a terminal, progress would overwrite its own line. The command prints figures meanwhile, so it must not.
  const stream = { write: (text: string) => void process.stderr.write(text), isTerminal: false }
  const name = basename(process.argv[1] ?? 'bench')
  const check: Check = (promise, kept) => {
    if (!kept) broken += 1
    process.stdout.write(`${kept ? 'kept  ' : 'BROKEN'}  ${promise}\n`)
  }
  await withProgress(
    stream,
    (seconds) => `[${name}] still running, ${seconds} s`,
    () => work(check),
  )
  process.exitCode = broken === 0 ? 0 : 1
}

/** Returns the nearest-rank percentile of the sample for `p` from 0 to 1, or NaN for an empty sample. */
export function percentile(sample: readonly number[], p: number): number {
  const sorted = sample.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(p * sorted.length) - 1)] ?? Number.NaN
}

/** Describes a sample of milliseconds in one line. */
export function describeMs(name: string, sample: readonly number[]): string {
  const at = (p: number) => `${percentile(sample, p).toFixed(1)} ms`
  return `${name}: n ${sample.length}, min ${at(0)}, p10 ${at(0.1)}, p50 ${at(0.5)}, p95 ${at(0.95)}, p99 ${at(0.99)}, max ${at(1)}`
}
