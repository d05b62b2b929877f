import { beforeAll, describe, expect, it } from 'vitest'
import { processFaults } from '../support/chaos/chaosFaults.ts'
import { runChaos } from '../support/chaos/runChaos.ts'
import { startTestService } from '../support/service/testService.ts'
import { stackStartMsMax } from '../support/stack/embeddedStack.ts'

/** With this seed each kind of fault strikes, and a worker has been replaced when the next one ends. */
const seed = 3866
const [strikeMs, drainMs] = [4_000, 60_000]

describe('the service while processes are killed and stopped, connections are cut and the upstream fails', () => {
  let report: Awaited<ReturnType<typeof runChaos>>
  beforeAll(
    async () => {
      // Some processes live on while chaos kills others.
      const service = await startTestService({
        apis: 2,
        workers: 2,
        channel: { timeoutSeconds: 4 },
        simulator: { latency: { minMs: 20, maxMs: 400 } },
        environment: { LOG_LEVEL: 'warn', PUBLIC_URL: 'https://images.example.test' },
      })
      report = await runChaos({
        service,
        seed,
        strikeMs,
        pauseMs: 1_000,
        drainMs,
        tasks: 40,
        clients: 12,
        faults: (chance) => processFaults(service, chance, [500, 2_500]),
      })
      console.log(report.figures)
      return () => service.stop()
    },
    stackStartMsMax + strikeMs + drainMs,
  )

  it('keeps every invariant [record-5]', () => {
    expect(report.broken).toEqual([])
  })

  it('delivers every end to a receiver that heals, one event for each id, and nothing after deletion [hook-24]', () => {
    expect(report.misdelivered).toEqual([])
  })
})
