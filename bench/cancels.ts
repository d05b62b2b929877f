/**
 * node bench/cancels.ts [--seed N] [--tasks N]
 *
 * Cancels tasks of every kind at random moments, over HTTP and in Temporal, while synchronous calls wait for
 * them on two APIs. Every answer must equal the ledger, every waiter of a cancelled task must get the final
 * answer, and the key must stay with the task.
 */
import { parseArgs } from 'node:util'
import { runBench } from './support/runBench.ts'
import { runCancels } from '../test/support/chaos/runCancels.ts'
import { startTestService } from '../test/support/service/testService.ts'

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    tasks: { type: 'string', default: '1000' },
  },
})

await runBench(async ({ check }) => {
  const service = await startTestService({
    apis: 2,
    workers: 2,
    channel: { concurrencyMax: 12 },
    simulator: { latency: { minMs: 20, maxMs: 400 } },
    environment: { LOG_LEVEL: 'warn' },
  })
  try {
    const { broken, figures } = await runCancels({
      service,
      seed: Number(values.seed),
      tasks: Number(values.tasks),
      parallel: 30,
      cancelMsMax: 2_500,
    })
    process.stdout.write(`${JSON.stringify(figures, null, 2)}\n`)
    for (const one of broken) process.stdout.write(`${one}\n`)
    if (broken.length > 0) {
      for (const api of service.apis) process.stdout.write(`${api.output()}\n`)
    }
    check(`${broken.length} answers differ from the ledger`, broken.length === 0)
  } finally {
    await service.stop()
  }
})
