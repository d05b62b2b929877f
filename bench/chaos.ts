/**
 * node bench/chaos.ts [--s3] [--pgbouncer] [--seed N] [--tasks N] [--seconds N]
 *
 * Runs clients from a seed, half of them with synchronous calls, against an upstream that fails at random, while faults strike: kill -9, SIGSTOP and
 * SIGTERM of APIs and workers, kill -9 and SIGSTOP of Temporal, kill -9 of PostgreSQL, cut connections, several
 * at once. With --s3 the images are on an S3 server, which is killed and stopped too, and with
 * --pgbouncer all processes reach PostgreSQL through PgBouncer in transaction mode. When the faults are over
 * and all tasks have ended, it checks the invariants of the service from the database, the answers that the
 * clients got and the call log of the upstream.
 */
import { parseArgs } from 'node:util'
import { runBench } from './support/runBench.ts'
import { startS3Server } from '../test/support/blobs/s3Server.ts'
import { createPgBouncer } from '../test/support/database/pgBouncer.ts'
import { processFaults, s3Faults, stackFaults } from '../test/support/chaos/chaosFaults.ts'
import { runChaos } from '../test/support/chaos/runChaos.ts'
import { startTestService } from '../test/support/service/testService.ts'

const { values } = parseArgs({
  options: {
    s3: { type: 'boolean', default: false },
    pgbouncer: { type: 'boolean', default: false },
    seed: { type: 'string', default: '1' },
    tasks: { type: 'string', default: '400' },
    seconds: { type: 'string', default: '120' },
  },
})

/** A SIGSTOP of 30 s is longer than the time after which a silent worker counts as lost. */
const stopMs = [1_000, 30_000] as const

await runBench(async ({ check, stack }) => {
  const s3 = values.s3 ? await startS3Server() : undefined
  const pooler = values.pgbouncer ? createPgBouncer() : undefined
  const service = await startTestService({
    ...(pooler && { pooler: pooler.start }),
    apis: 2,
    workers: 2,
    channel: { timeoutSeconds: 10 },
    simulator: { latency: { minMs: 100, maxMs: 3_000 } },
    environment: {
      LOG_LEVEL: 'warn',
      PUBLIC_URL: 'http://images.example.test',
      ...(s3 && { ...s3.environment, BLOB_STORE: `s3://${s3.bucket}/chaos` }),
    },
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
        ...(s3 ? s3Faults(s3, chance, stopMs) : []),
      ],
    })
    process.stdout.write(`${JSON.stringify(figures, null, 2)}\n`)
    for (const one of broken) process.stdout.write(`${one}\n`)
    check(`${broken.length} invariants broken`, broken.length === 0)
  } finally {
    await service.stop()
    await s3?.stop()
    await pooler?.stop()
  }
})
