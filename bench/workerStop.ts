/**
 * Stops both workers (SIGTERM, as a deployment does) during calls of 20 s. The calls finish and are settled, no
 * call is repeated, and both processes exit 0.
 */
import { runBench } from './support/runBench.ts'
import { createClient } from '../test/support/clients/client.ts'
import { moneyOf } from '../test/support/database/money.ts'
import { startTestService } from '../test/support/service/testService.ts'

const callMs = 20_000

await runBench(async ({ check }) => {
  const service = await startTestService({ workers: 2 })
  try {
    const client = createClient(service.url, (await service.account()).secret)
    const prompt = `A lighthouse [sim:delay ms=${callMs}]`
    const submitted = await Promise.all(
      Array.from({ length: 4 }, () =>
        client.accepted({ model: 'familyb-image-2-vip', action: 'generate', prompt }),
      ),
    )
    await service.simulator.waitForCalls(submitted.length)
    const startedAt = performance.now()
    const [first, second] = service.workers
    first?.signal('SIGTERM')
    second?.signal('SIGTERM')
    const ends = await Promise.all([first?.ended, second?.ended])
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
    check(
      `both workers exit 0 after ${seconds} s: ${ends.join(', ')}`,
      ends.every((end) => end === 0),
    )
    const records = await Promise.all(submitted.map(({ task_id }) => client.ended(task_id)))
    const succeeded = records.filter(({ status }) => status === 'succeeded').length
    check(`${succeeded} of ${submitted.length} succeed`, succeeded === submitted.length)
    const calls = service.simulator.calls()
    check(`${calls.length} calls, one per task`, calls.length === submitted.length)
    const money = await Promise.all(submitted.map(({ task_id }) => moneyOf(service.pool, task_id)))
    check(
      'each task is charged once',
      money.every((kinds) => kinds.join() === 'hold,settle'),
    )
  } finally {
    await service.stop()
  }
})
