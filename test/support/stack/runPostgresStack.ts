// node runPostgresStack.ts DATA_DIR runs the stack with PostgreSQL only, until the process is ended.
// SIGTERM stops the stack, SIGINT kills it.
import { startStack } from '../../../src/dev/stack/stack.ts'

const dataDir = process.argv[2]
if (dataDir === undefined) throw new Error('usage: node runPostgresStack.ts DATA_DIR')

try {
  const stack = await startStack({
    dataDir,
    ports: { postgres: 0, temporal: 0, temporalUi: 0 },
    temporalNamespace: 'default',
    temporalAddress: 'none:1',
    env: process.env,
    say: () => undefined,
    withUi: false,
    durable: true,
  })
  process.stdout.write(
    `${JSON.stringify({ databaseUrl: stack.databaseUrl, pids: stack.pids() })}\n`,
  )
  process.once('SIGTERM', () => void stack.stop().then(() => process.exit(0)))
  process.once('SIGINT', () => {
    stack.kill()
    process.exit(0)
  })
  setInterval(() => undefined, 60_000)
} catch (error) {
  process.stderr.write(error instanceof Error ? error.message : String(error))
  process.exitCode = 1
}
