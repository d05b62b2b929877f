import { loadavg, tmpdir } from 'node:os'
import type { Stack } from '../../src/dev/stack/stack.ts'
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { startStack } from '../../src/dev/stack/stack.ts'
import { useStack } from '../../test/support/stack/embeddedStack.ts'

/** What one command runs on, and what it promises. */
export type Bench = {
  readonly stack: Stack
  /** Prints the promise with its figure; the command exits 1 when one was not kept. */
  readonly check: (what: string, kept: boolean) => void
}

/**
 * Runs one command of bench/: the stack before it, its end after it, the exit code from its promises:
 * 0 all kept, 1 one broken or the command failed.
 */
export async function runBench(
  work: (bench: Bench) => Promise<void>,
  options: { readonly durable: boolean } = { durable: true },
): Promise<void> {
  let broken = 0
  const check = (what: string, kept: boolean) => {
    if (!kept) broken += 1
    process.stdout.write(`${kept ? 'kept  ' : 'BROKEN'}  ${what}\n`)
  }
  const load = loadavg()[0] ?? 0
  process.stdout.write(`load average at the start: ${load.toFixed(2)}\n`)
  const { stack, stop } = await startBenchStack(options)
  try {
    await work({ stack, check })
  } finally {
    await stop()
  }
  process.exitCode = broken === 0 ? 0 : 1
}

/**
 * Starts a stack of this command's own, on free ports and with data in a temporary folder, and lets
 * `startTestService` of test/support run on it. `durable`: with fsync, as `npm start` has it.
 */
export async function startBenchStack(options: { readonly durable: boolean }) {
  const dataDir = await mkdtemp(join(tmpdir(), 'darkroom-bench-'))
  const stack = await startStack({
    dataDir,
    ports: { postgres: 0, temporal: 0, temporalUi: 0 },
    env: process.env,
    say: (line) => void process.stderr.write(`[stack] ${line}\n`),
    withUi: false,
    durable: options.durable,
  })
  const { databaseUrl, temporalAddress } = stack
  useStack({ databaseUrl, temporalAddress })
  return {
    stack,
    stop: async () => {
      await stack.stop()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}

/** The value below which the share `p` (0 to 1) of the sample lies, by nearest rank. */
export function percentile(sample: readonly number[], p: number): number {
  const sorted = sample.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(p * sorted.length) - 1)] ?? Number.NaN
}

/** One line for a sample of milliseconds. */
export function describeMs(name: string, sample: readonly number[]): string {
  const at = (p: number) => `${percentile(sample, p).toFixed(1)} ms`
  return `${name}: n ${sample.length}, least ${at(0)}, p10 ${at(0.1)}, p50 ${at(0.5)}, p95 ${at(0.95)}, p99 ${at(0.99)}, most ${at(1)}`
}
