/**
 * Submits 200 tasks at once for a model whose upstream grants 10 calls per 5 s and refuses the rest. All tasks
 * succeed and few calls are refused. The limit alone makes this take at least 95 s.
 */
import { verifyLedger } from '../src/store/accounts/verifyLedger.ts'
import { runBench } from './support/runBench.ts'
import { createClient } from '../test/support/clients/client.ts'
import { startTestService } from '../test/support/service/testService.ts'

const tasks = 200
const limit = { model: 'familyb-image-2-vip', grants: 10, windowMs: 5_000 }
const refusedPerGrantedMax = 0.2
const limitMs = 300_000

await runBench(async ({ check }) => {
  const service = await startTestService()
  try {
    service.simulator.limit(limit)
    const client = createClient(service.url, (await service.account()).secret)
    const startedAt = performance.now()
    const submitted = await Promise.all(
      Array.from({ length: tasks }, () =>
        client.accepted({ model: limit.model, action: 'generate', prompt: 'A lighthouse' }),
      ),
    )
    const records = await Promise.all(
      submitted.map(({ task_id }) => client.ended(task_id, { limitMs, everyMs: 1_000 })),
    )
    const seconds = (performance.now() - startedAt) / 1000
    const calls = service.simulator.calls()
    const refused = calls.filter(({ status }) => status === 429).length
    const ratio = refused / (calls.length - refused)
    const idealSeconds = ((tasks / limit.grants - 1) * limit.windowMs) / 1000
    process.stdout.write(
      `${calls.length} calls, ${refused} refused, in ${seconds.toFixed(0)} s, which is ` +
        `${(seconds / idealSeconds).toFixed(2)} times the ${idealSeconds} s that the limit alone needs\n`,
    )
    const succeeded = records.filter(({ status }) => status === 'succeeded').length
    check(`${succeeded} of ${tasks} succeed`, succeeded === tasks)
    check(
      `${calls.length - refused} calls granted, ${tasks} needed`,
      calls.length - refused === tasks,
    )
    check(
      `${ratio.toFixed(2)} refused per granted, at most ${refusedPerGrantedMax}`,
      ratio <= refusedPerGrantedMax,
    )
    const violations = await verifyLedger(service.pool)
    check(`${violations.length} violations in the ledger`, violations.length === 0)
  } finally {
    await service.stop()
  }
})
