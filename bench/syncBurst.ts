/** Sends 50 synchronous generations at once to an upstream that takes 2 s. All succeed within 4 s (p99). */
import { describeMs, percentile, runBench } from './support/runBench.ts'
import { createClient } from '../test/support/clients/client.ts'
import { generate } from '../test/support/clients/syncCalls.ts'
import { startTestService } from '../test/support/service/testService.ts'
import { timed } from '../test/support/timing.ts'

const atOnce = 50
const rounds = 3
const upstreamMs = 2_000
const p99MsMax = 4_000

await runBench(async ({ check }) => {
  const service = await startTestService({ simulator: { latency: upstreamMs, image: 'tiny' } })
  const client = createClient(service.url, (await service.account()).secret)
  const statuses: number[] = []
  const tookMs: number[] = []

  async function one(prompt: string): Promise<void> {
    const answer = await generate(client, { prompt })
    await answer.arrayBuffer()
    statuses.push(answer.status)
  }

  await one('warm-up')
  statuses.length = 0
  for (let round = 0; round < rounds; round += 1) {
    const calls = Array.from({ length: atOnce }, (_, n) => timed(() => one(`${round} ${n}`)))
    tookMs.push(...(await Promise.all(calls)))
  }
  await service.stop()
  process.stdout.write(
    `${describeMs(`${atOnce} at once, upstream latency ${upstreamMs} ms`, tookMs)}\n`,
  )
  const succeeded = statuses.filter((status) => status === 200).length
  check(`${succeeded} of ${atOnce * rounds} succeeded`, succeeded === atOnce * rounds)
  const p99 = percentile(tookMs, 0.99)
  check(`p99 ${p99.toFixed(0)} ms, below ${p99MsMax} ms`, p99 < p99MsMax)
})
