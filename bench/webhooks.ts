/**
 * node bench/webhooks.ts [--seed N] [--tasks N] [--seconds N] [--ends N]
 *
 * First, receivers that fail, hang, drip, redirect and close in the middle, while the faults of chaos.ts strike:
 * every end is delivered at least once to a receiver that heals, every id is one event, nothing arrives after
 * deletion. Then many tasks end whose receiver never answers: its webhook has only one run in Temporal, and the
 * first tries of other accounts stay fast.
 */
import { parseArgs } from 'node:util'
import { describeMs, percentile, runBench } from './support/runBench.ts'
import { processFaults, stackFaults } from '../test/support/chaos/chaosFaults.ts'
import { generateBody } from '../test/support/clients/requestBodies.ts'
import type { TestService } from '../test/support/service/testService.ts'
import { startTestService } from '../test/support/service/testService.ts'
import { until } from '../test/support/timing.ts'
import { startReceiver } from '../test/support/webhooks/receiver.ts'
import { runWebhookChaos } from '../test/support/webhooks/runWebhookChaos.ts'
import { createWebhookClient } from '../test/support/webhooks/webhookClient.ts'

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    tasks: { type: 'string', default: '400' },
    seconds: { type: 'string', default: '120' },
    ends: { type: 'string', default: '10000' },
  },
})

const stopMs = [1_000, 30_000] as const
const otherTasks = 100

await runBench(async ({ check, stack }) => {
  const service = await startTestService({
    apis: 2,
    workers: 2,
    channel: { timeoutSeconds: 10 },
    simulator: { latency: { minMs: 50, maxMs: 500 } },
    environment: { LOG_LEVEL: 'warn', PUBLIC_URL: 'https://images.example.test' },
  })
  const pids = () => {
    const [postgres = 0, temporal = 0] = stack.pids()
    return { postgres, temporal }
  }
  try {
    const { broken, figures } = await runWebhookChaos({
      service,
      seed: Number(values.seed),
      tasks: Number(values.tasks),
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
    check(`${broken.length} invariants of webhooks broken`, broken.length === 0)
    await deadReceiver(service, check)
  } finally {
    await service.stop()
  }
})

/** Ends many tasks of one account whose receiver hangs, and measures the first tries of another account. */
async function deadReceiver(
  service: TestService,
  check: (promise: string, kept: boolean) => void,
): Promise<void> {
  const receiver = await startReceiver()
  receiver.behave = (request, response) => {
    if (request.url === '/other') response.writeHead(200).end()
  }
  // The first API may have been killed and replaced.
  const url = service.apis[0]?.url ?? ''
  const client = createWebhookClient({ url }, await service.account())
  const { webhook_id: id } = await client.register(`${receiver.url}/dead`)
  const { task_id: taskId } = await client.accepted(generateBody())
  await client.ended(taskId)
  // The deliveries of `--ends` tasks, written at once. All of them name the same task.
  await service.pool.query(
    `insert into webhook_delivery (delivery_id, webhook_id, task_id, event)
     select 'whd_' || replace(gen_random_uuid()::text, '-', ''), $1, $2, 'task.succeeded'
     from generate_series(1, $3)`,
    [id, taskId, Number(values.ends)],
  )
  const other = createWebhookClient({ url }, await service.account())
  await other.register(`${receiver.url}/other`)
  const waits: number[] = []
  for (let n = 1; n <= otherTasks; n += 1) {
    await other.accepted(generateBody())
    const arrived = await until('the delivery of another account', () =>
      receiver.received.filter(({ path }) => path === '/other').at(n - 1),
    )
    const { timestamp }: { timestamp: string } = JSON.parse(arrived.body)
    waits.push(arrived.atMs - Date.parse(timestamp))
  }
  process.stdout.write(`${describeMs('first tries of another account', waits)}\n`)
  check('first tries of another account: p99 below 1 s', percentile(waits, 0.99) < 1_000)
  const runs: string[] = []
  const query = `WorkflowId = 'webhook/${id}'`
  await until(
    'the run in the list',
    async () => {
      runs.length = 0
      const found = service.temporal.temporal.client.workflow.list({ query })
      for await (const run of found) runs.push(run.runId)
      return runs.length > 0 ? true : undefined
    },
    60_000,
  )
  check(`${values.ends} ends for a dead receiver: ${runs.length} run`, runs.length === 1)
  await receiver.close()
}
