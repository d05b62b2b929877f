/**
 * node bench/chaos.ts [--seed N] [--tasks N] [--seconds N]
 *
 * A seeded driver, an upstream that fails at random, and faults that strike everything: kill -9, SIGSTOP
 * (up to 30 s: longer than a worker's silence is believed) and SIGTERM of API and worker, kill -9 and
 * SIGSTOP of Temporal, kill -9 of PostgreSQL, cut connections; several at once. Then all heals, drains,
 * and the invariants of the service are reckoned from SQL, the clients' logs and the upstream's.
 */
import { parseArgs } from 'node:util'
import { processFaults, stackFaults } from '../test/support/chaos/chaosFaults.ts'
import { runChaos } from '../test/support/chaos/runChaos.ts'
import { startTestService } from '../test/support/service/testService.ts'
import { runBench } from './support/runBench.ts'

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    tasks: { type: 'string', default: '400' },
    seconds: { type: 'string', default: '120' },
  },
})

const stopMs = [1_000, 30_000] as const

await runBench(async ({ check, stack }) => {
  const service = await startTestService({
    apis: 2,
    workers: 2,
    channel: { timeoutSeconds: 10 },
    simulator: { latency: { minMs: 100, maxMs: 3_000 } },
    environment: { LOG_LEVEL: 'warn', PUBLIC_URL: 'http://images.example.test' },
  })
  const pids = () => {
    const [postgres = 0, temporal = 0] = stack.pids()
    return { postgres, temporal }
  }
  try {
    const { broken, figures } = await runChaos({
      service,
      seed: Number(values.seed),
      tasks: Number(values.tasks),
      clients: 24,
      strikeMs: Number(values.seconds) * 1000,
      pauseMs: 5_000,
      drainMs: 300_000,
      faults: (chance) => [
        ...processFaults(service, chance, stopMs),
        ...stackFaults(pids, chance, stopMs),
      ],
    })
    process.stdout.write(`${JSON.stringify(figures, null, 2)}\n`)
    for (const one of broken) process.stdout.write(`${one}\n`)
    check(`${broken.length} invariants broken`, broken.length === 0)
  } finally {
    await service.stop()
  }
})
