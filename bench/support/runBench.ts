import { loadavg } from 'node:os'
import type { Stack } from '../../src/dev/stack/stack.ts'
import { startBenchStack } from './benchStack.ts'

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
