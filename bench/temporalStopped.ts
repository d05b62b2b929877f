/**
 * Temporal's server is stopped (SIGSTOP) for 30 s while clients submit: they are answered 202 as fast as
 * before, and when it continues every task ends. Calls that are under way all the while are not made again.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { createClient } from '../test/support/clients/client.ts'
import { startTestService } from '../test/support/service/testService.ts'
import { describeMs, percentile, runBench } from './support/runBench.ts'

const stoppedMs = 30_000
const everyMs = 100
const before = 100
const slowerMax = 3
const limitMs = 180_000
/** Under way from before the stop until after it. */
const longCalls = 5
const longCallMs = 45_000

await runBench(async ({ check, stack }) => {
  const service = await startTestService({ environment: { LOG_LEVEL: 'warn' } })
  const client = createClient(service.url, (await service.account()).secret)
  const body = { model: 'familyb-image-2-vip', action: 'generate', prompt: 'A lighthouse at dusk' }
  const submitted: string[] = []
  const submit = async (ms: number[]) => {
    const sentAt = performance.now()
    submitted.push((await client.accepted(body)).task_id)
    ms.push(performance.now() - sentAt)
    await sleep(everyMs)
  }
  const [, temporal = 0] = stack.pids()
  try {
    const usual: number[] = []
    for (let count = 0; count < before; count += 1) await submit(usual)
    for (let count = 0; count < longCalls; count += 1) {
      const prompt = `A slow lighthouse [sim:delay ms=${longCallMs}]`
      submitted.push((await client.accepted({ ...body, prompt })).task_id)
    }
    await service.simulator.waitForCalls(submitted.length)
    const without: number[] = []
    process.kill(temporal, 'SIGSTOP')
    const continuesAt = performance.now() + stoppedMs
    while (performance.now() < continuesAt) await submit(without)
    process.kill(temporal, 'SIGCONT')
    const continuedAt = performance.now()
    process.stdout.write(`${describeMs('with Temporal   ', usual)}\n`)
    process.stdout.write(`${describeMs('Temporal stopped', without)}\n`)
    const ratio = percentile(without, 0.5) / percentile(usual, 0.5)
    check(`p50 ${ratio.toFixed(2)} times the usual, at most ${slowerMax}`, ratio <= slowerMax)
    const records = await Promise.all(
      submitted.map((taskId) => client.ended(taskId, { limitMs, everyMs: 3_000 })),
    )
    const seconds = ((performance.now() - continuedAt) / 1000).toFixed(0)
    const succeeded = records.filter(({ status }) => status === 'succeeded').length
    check(
      `${succeeded} of ${submitted.length} succeed, ${seconds} s after it continues`,
      succeeded === submitted.length,
    )
    const calls = service.simulator.calls().length
    check(`${calls} calls, one per task`, calls === submitted.length)
  } finally {
    process.kill(temporal, 'SIGCONT')
    await service.stop()
  }
})
