import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startStack } from '../../src/dev/stack/stack.ts'
import { useStack } from '../../test/support/embeddedStack.ts'

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
