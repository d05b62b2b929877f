/**
 * One account queues 500 tasks for a channel with four places. A single task and a synchronous call of another
 * account take at most three times as long as on an idle service. Runs with one worker and with two.
 */
import { describeMs, percentile, runBench } from './support/runBench.ts'
import type { Client } from '../test/support/clients/client.ts'
import { createClient } from '../test/support/clients/client.ts'
import { generateBody } from '../test/support/clients/requestBodies.ts'
import { generate } from '../test/support/clients/syncCalls.ts'
import { startTestService } from '../test/support/service/testService.ts'
import { runParallel, timed } from '../test/support/timing.ts'

const backlog = 500
const places = 4
const latency = 2_000
const trials = 6
const factorMax = 3

await runBench(async ({ check }) => {
  for (const workers of [1, 2]) {
    const service = await startTestService({
      workers,
      channel: { concurrencyMax: places },
      simulator: { latency, image: 'tiny' },
    })
    const many = createClient(service.url, (await service.account()).secret)
    const single = createClient(service.url, (await service.account()).secret)
    const kinds = {
      'a task': () => timed(() => task(single)),
      'a synchronous call': () => timed(() => call(single)),
    }
    await task(single)
    await call(single)
    const idle = await measure(kinds)
    await runParallel(backlog, 16, () => many.accepted(generateBody({ prompt: 'one of many' })))
    const busy = await measure(kinds)
    await service.stop()
    for (const [name, sample] of Object.entries(busy)) {
      const before = percentile(idle[name] ?? [], 0.5)
      const factor = Math.max(...sample) / before
      const where = `${name} behind ${backlog} tasks, ${workers} worker(s)`
      process.stdout.write(`${describeMs(where, sample)}; idle p50 ${before.toFixed(0)} ms\n`)
      check(
        `${where}: slowest ${factor.toFixed(2)} times the idle p50, at most ${factorMax}`,
        factor <= factorMax,
      )
    }
  }
})

async function measure(
  kinds: Readonly<Record<string, () => Promise<number>>>,
): Promise<Readonly<Record<string, readonly number[]>>> {
  const samples: Record<string, number[]> = {}
  for (let trial = 0; trial < trials; trial += 1) {
    for (const [name, once] of Object.entries(kinds)) {
      samples[name] = [...(samples[name] ?? []), await once()]
    }
  }
  return samples
}

async function task(client: Client): Promise<void> {
  const { task_id } = await client.accepted(generateBody({ prompt: 'alone' }))
  const { status } = await client.ended(task_id, { everyMs: 50, limitMs: 120_000 })
  if (status !== 'succeeded') throw new Error(`${task_id}: ${status}`)
}

async function call(client: Client): Promise<void> {
  const answer = await generate(client, { prompt: 'alone, waiting' })
  if (answer.status !== 200) throw new Error(`${answer.status} ${await answer.text()}`)
  await answer.arrayBuffer()
}
