/**
 * Measures the latency of the 202 and the accepted tasks per second for 16 concurrent clients with a short
 * prompt, while a worker runs on the same machine. Each 202 is sent after task, hold and ledger are committed.
 */
import { verifyLedger } from '../src/store/accounts/verifyLedger.ts'
import { describeMs, percentile, runBench } from './support/runBench.ts'
import { createClient } from '../test/support/clients/client.ts'
import { startTestService } from '../test/support/service/testService.ts'

const clients = 16
const warmUp = 200
const measured = 2_000
const p99MsMax = 1_000

await runBench(async ({ check }) => {
  const service = await startTestService({ environment: { LOG_LEVEL: 'warn' } })
  try {
    const accounts = await Promise.all(Array.from({ length: clients }, () => service.account()))
    const each = accounts.map(({ secret }) => createClient(service.url, secret))
    const body = {
      model: 'familyb-image-2-vip',
      action: 'generate',
      prompt: 'A lighthouse at dusk',
    }

    async function submitAll(
      count: number,
    ): Promise<{ readonly ms: number[]; readonly seconds: number }> {
      const ms: number[] = []
      let left = count
      const startedAt = performance.now()
      const run = async (client: (typeof each)[number]) => {
        while (left > 0) {
          left -= 1
          const sentAt = performance.now()
          await client.accepted(body, { 'idempotency-key': crypto.randomUUID() })
          ms.push(performance.now() - sentAt)
        }
      }
      await Promise.all(each.map(run))
      return { ms, seconds: (performance.now() - startedAt) / 1000 }
    }

    await submitAll(warmUp)
    const { ms, seconds } = await submitAll(measured)
    process.stdout.write(`${describeMs('submit', ms)}\n`)
    process.stdout.write(`${(measured / seconds).toFixed(0)} submits per second\n`)
    const p99 = percentile(ms, 0.99)
    check(`p99 ${p99.toFixed(0)} ms, at most ${p99MsMax} ms`, p99 <= p99MsMax)
    const violations = await verifyLedger(service.pool)
    check(`${violations.length} violations in the ledger`, violations.length === 0)
  } finally {
    await service.stop()
  }
})
