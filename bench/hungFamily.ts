/** The upstream of family A accepts calls and never answers. Calls of family B take as long as before. */
import { describeMs, percentile, runBench } from './support/runBench.ts'
import type { Client } from '../test/support/clients/client.ts'
import { createClient } from '../test/support/clients/client.ts'
import { generateBody } from '../test/support/clients/requestBodies.ts'
import { generate } from '../test/support/clients/syncCalls.ts'
import { startTestService } from '../test/support/service/testService.ts'
import { runParallel, timed } from '../test/support/timing.ts'

const hung = 200
const calls = 120
const parallel = 4
const latency = 1_000
const changeMax = 0.15

await runBench(async ({ check }) => {
  const service = await startTestService({ simulator: { latency, image: 'tiny' } })
  const client = createClient(service.url, (await service.account()).secret)
  await callsOfB(client, 8)
  const before = await callsOfB(client, calls)
  await runParallel(hung, 16, () =>
    client.accepted(
      generateBody({ model: 'familya-3-pro-image', prompt: 'A lighthouse [sim:hang]' }),
    ),
  )
  await service.simulator.waitForCalls(50, { prompt: 'A lighthouse' })
  const during = await callsOfB(client, calls)
  await service.simulator.release()
  await service.stop()
  process.stdout.write(`${describeMs('family B, family A idle', before)}\n`)
  process.stdout.write(`${describeMs(`family B, ${hung} tasks of family A hang`, during)}\n`)
  const change = percentile(during, 0.95) / percentile(before, 0.95) - 1
  check(`p95 of family B rose by ${(change * 100).toFixed(1)} %, at most 15 %`, change <= changeMax)
})

async function callsOfB(client: Client, times: number): Promise<readonly number[]> {
  const tookMs: number[] = []
  await runParallel(times, parallel, async () => {
    const call = timed(async () => {
      const answer = await generate(client, { prompt: 'Not held back' })
      await answer.arrayBuffer()
      if (answer.status !== 200) throw new Error(`answered ${answer.status}`)
    })
    tookMs.push(await call)
  })
  return tookMs
}
