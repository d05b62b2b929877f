/**
 * Compares the latency of a synchronous generation, with an upstream that answers at once, to a workflow with
 * one empty activity on the same Temporal server. Both take turns, so that load on the machine slows both.
 */
import { startBareTemporal } from './support/bareTemporal.ts'
import { describeMs, percentile, runBench } from './support/runBench.ts'
import { createClient } from '../test/support/clients/client.ts'
import { startTestService } from '../test/support/service/testService.ts'
import { timed } from '../test/support/timing.ts'

const warmUp = 30
const measured = 200
const ratioMax = 1.5

await runBench(async ({ check }) => {
  const service = await startTestService({ simulator: { latency: 0, image: 'tiny' } })
  const { temporal, settings } = service.temporal
  const bare = await startBareTemporal(temporal, settings.address)
  const { authorization, url } = createClient(service.url, (await service.account()).secret)
  const body = JSON.stringify({ model: 'familyb-image-2-vip', prompt: 'A lighthouse at dusk' })

  async function generate(): Promise<void> {
    const answer = await fetch(`${url}/v1/images/generations`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body,
    })
    const text = await answer.text()
    if (answer.status !== 200) throw new Error(`${answer.status} ${text}`)
  }

  for (let turn = 0; turn < warmUp; turn += 1) {
    await generate()
    await bare.execute()
  }
  const [sync, workflow]: [number[], number[]] = [[], []]
  for (let turn = 0; turn < measured; turn += 1) {
    sync.push(await timed(generate))
    workflow.push(await timed(bare.execute))
  }
  await bare.stop()
  await service.stop()
  const ratio = percentile(sync, 0.5) / percentile(workflow, 0.5)
  process.stdout.write(`${describeMs('synchronous generation', sync)}\n`)
  process.stdout.write(`${describeMs('bare one-activity workflow', workflow)}\n`)
  check(
    `p50 ${ratio.toFixed(2)} times the p50 of the bare workflow, at most ${ratioMax}`,
    ratio <= ratioMax,
  )
})
