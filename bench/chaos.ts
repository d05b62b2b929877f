/**
 * node bench/chaos.ts [--only PART,…] [--seed N] [--tasks N] [--seconds N] [--s3] [--pgbouncer]
 *
 * Runs clients from a seed, half of them with synchronous calls, against an upstream that fails at random and
 * receivers of webhooks that fail, hang, drip, redirect and close in the middle, while faults strike, several at
 * once. When they are over and all tasks have ended, `referee.ts` judges what was seen from outside.
 *
 * --only chooses the faults: `kills` (kill -9, SIGSTOP and SIGTERM of APIs and workers, cut connections),
 * `temporal` and `postgres` (kill -9, SIGSTOP), `s3` (the same of an S3 server). Without it, the first three strike.
 * `cancels` cancels tasks at random moments instead, without faults. With --s3 the images are on an S3 server and `s3`
 * strikes too, and with --pgbouncer all processes reach PostgreSQL through PgBouncer in transaction mode.
 */
import { parseArgs } from 'node:util'
import { startS3Server } from '../test/support/blobs/s3Server.ts'
import type { FaultRound } from '../test/support/chaos/chaosFaults.ts'
import { processFaults, s3Faults, stackFaults } from '../test/support/chaos/chaosFaults.ts'
import { runCancels } from '../test/support/chaos/runCancels.ts'
import { runChaos } from '../test/support/chaos/runChaos.ts'
import { createPgBouncer } from '../test/support/database/pgBouncer.ts'
import type { TestService } from '../test/support/service/testService.ts'
import { withSimulated } from './support/benchWorld.ts'
import type { Bench } from './support/runBench.ts'
import { chooseFrom, runBench } from './support/runBench.ts'

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    seed: { type: 'string', default: '1' },
    tasks: { type: 'string' },
    seconds: { type: 'string', default: '120' },
    s3: { type: 'boolean', default: false },
    pgbouncer: { type: 'boolean', default: false },
  },
})
const faultParts = ['kills', 'temporal', 'postgres', 's3']
const only = chooseFrom([...faultParts, 'cancels'], values.only?.split(',') ?? [])
const onS3 = values.s3 || only.includes('s3')
const named = faultParts.filter((part) => only.includes(part))
const striking = named.length > 0 ? named : faultParts
const seed = Number(values.seed)

/** A SIGSTOP of 30 s is longer than the time after which a silent worker counts as lost. */
const stopMs = [1_000, 30_000] as const
const twoOfEach = { apis: 2, workers: 2 }

await runBench(async (bench) => {
  const report = (what: string, broken: readonly string[], figures: object) => {
    console.log(JSON.stringify(figures, null, 2))
    for (const one of broken) console.log(one)
    bench.figure(what, broken.length, '', { atMost: 0 })
  }
  const tasks = Number(values.tasks ?? 400)
  if (only.length === 0 || named.length > 0) {
    await underFaults(bench, async (service, round) => {
      const { broken, rare, sums } = await runChaos({ service, tasks, ...round })
      report('promises broken', broken, { seed, ...sums, ...rare })
    })
  }
  if (!only.includes('cancels')) return
  const options = { ...twoOfEach, channel: { concurrencyMax: 12 }, latency: '20-400' }
  await withSimulated(options, async (service) => {
    const cancels = { tasks: Number(values.tasks ?? 1_000), parallel: 30, cancelMsMax: 2_500 }
    const { broken, figures } = await runCancels({ service, seed, ...cancels })
    report('answers differ from the ledger', broken, figures)
  })
})

/** Starts two APIs and two workers, on S3 and behind PgBouncer as the command line says. */
async function underFaults(
  { pidOf }: Bench,
  work: (service: TestService, round: FaultRound & { readonly drainMs: number }) => Promise<void>,
): Promise<void> {
  const s3 = onS3 ? await startS3Server() : undefined
  const pooler = values.pgbouncer ? createPgBouncer() : undefined
  const options = {
    ...twoOfEach,
    latency: '100-3000',
    channel: { timeoutSeconds: 10 },
    ...(pooler && { pooler: pooler.start }),
    environment: {
      PUBLIC_URL: 'https://images.example.test',
      ...(s3 && { ...s3.environment, BLOB_STORE: `s3://${s3.bucket}/chaos` }),
    },
  }
  try {
    await withSimulated(options, (service) => {
      const faults: FaultRound['faults'] = (chance) =>
        [
          ...processFaults(service, chance, stopMs),
          ...stackFaults(pidOf, chance, stopMs),
          ...(s3 === undefined ? [] : s3Faults(s3, chance, stopMs)),
        ].filter(({ part }) => striking.includes(part))
      const strikeMs = Number(values.seconds) * 1000
      return work(service, { seed, strikeMs, pauseMs: 5_000, drainMs: 300_000, faults })
    })
  } finally {
    await s3?.stop()
    await pooler?.stop()
  }
}
