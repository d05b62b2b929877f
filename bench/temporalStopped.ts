/**
 * Stops the Temporal server (SIGSTOP) for 30 s while a client submits. Submits get a 202 in at most three times
 * the usual time, and every task succeeds once Temporal continues. Calls under way are not repeated.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { describeMs, percentile, runBench } from './support/runBench.ts'
import { createClient } from '../test/support/clients/client.ts'
import { startTestService } from '../test/support/service/testService.ts'

const stoppedMs = 30_000
const everyMs = 100
const before = 100
const slowerMax = 3
const limitMs = 180_000
/** Calls that start before the stop and end after it. */
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
    const stopped: number[] = []
    process.kill(temporal, 'SIGSTOP')
    const continuesAtMs = performance.now() + stoppedMs
    while (performance.now() < continuesAtMs) await submit(stopped)
    process.kill(temporal, 'SIGCONT')
    const continuedAtMs = performance.now()
    process.stdout.write(`${describeMs('with Temporal   ', usual)}\n`)
    process.stdout.write(`${describeMs('Temporal stopped', stopped)}\n`)
    const ratio = percentile(stopped, 0.5) / percentile(usual, 0.5)
    check(`p50 ${ratio.toFixed(2)} times the usual p50, at most ${slowerMax}`, ratio <= slowerMax)
    const records = await Promise.all(
      submitted.map((taskId) => client.ended(taskId, { limitMs, everyMs: 3_000 })),
    )
    const seconds = ((performance.now() - continuedAtMs) / 1000).toFixed(0)
    const succeeded = records.filter(({ status }) => status === 'succeeded').length
    check(
      `${succeeded} of ${submitted.length} succeed, ${seconds} s after Temporal continues`,
      succeeded === submitted.length,
    )
    const calls = (await service.simulator.calls()).length
    check(`${calls} calls, one per task`, calls === submitted.length)
  } finally {
    process.kill(temporal, 'SIGCONT')
    await service.stop()
  }
})
