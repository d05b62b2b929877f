import { beforeAll, describe, expect, it } from 'vitest'
import { processFaults } from '../support/chaos/chaosFaults.ts'
import type { ChaosReport } from '../support/chaos/runChaos.ts'
import { runChaos } from '../support/chaos/runChaos.ts'
import { startTestService } from '../support/service/testService.ts'
import { stackStartMsMax } from '../support/stack/embeddedStack.ts'
import { runWebhookChaos } from '../support/webhooks/runWebhookChaos.ts'

const seed = 20_261_121
const [strikeMs, pauseMs, drainMs] = [3_000, 500, 60_000]

describe('the service while processes are killed and stopped, connections are cut and the upstream fails', () => {
  let tasks: ChaosReport
  let webhooks: ChaosReport
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
      const round = { service, seed, strikeMs, pauseMs, drainMs }
      // The faults of the first strike the second as well, once its webhooks exist.
      const registered = Promise.withResolvers<void>()
      ;[tasks, webhooks] = await Promise.all([
        registered.promise.then(() =>
          runChaos({
            ...round,
            tasks: 40,
            clients: 12,
            faults: (chance) => processFaults(service, chance, [500, 2_500]),
          }),
        ),
        runWebhookChaos({
          ...round,
          tasks: 40,
          faults: () => [],
          onRegistered: registered.resolve,
        }),
      ])
      console.log(tasks.figures, webhooks.figures)
      return () => service.stop()
    },
    stackStartMsMax + strikeMs + drainMs,
  )

  it('keeps every invariant [record-5]', () => {
    expect(tasks.broken).toEqual([])
  })

  it('delivers every end to a receiver that heals, one event for each id, and nothing after deletion [hook-24]', () => {
    expect(webhooks.broken).toEqual([])
  })
})
