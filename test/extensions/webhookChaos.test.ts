import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { processFaults } from '../support/chaos/chaosFaults.ts'
import type { TestService } from '../support/service/testService.ts'
import { startTestService } from '../support/service/testService.ts'
import { stackStartMsMax } from '../support/stack/embeddedStack.ts'
import { runWebhookChaos } from '../support/webhooks/runWebhookChaos.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService({
    apis: 2,
    workers: 2,
    channel: { timeoutSeconds: 4 },
    simulator: { latency: { minMs: 20, maxMs: 200 } },
    environment: { LOG_LEVEL: 'warn', PUBLIC_URL: 'https://images.example.test' },
  })
}, stackStartMsMax)
afterAll(() => service.stop())

describe('webhooks under random faults', () => {
  it('deliver every end to a receiver that heals, one event for each id, and nothing after deletion [hook-24]', async () => {
    const { broken, figures } = await runWebhookChaos({
      service,
      seed: 20_261_122,
      tasks: 60,
      strikeMs: 6_000,
      pauseMs: 1_000,
      drainMs: 75_000,
      faults: (chance) => processFaults(service, chance, [500, 2_500]),
    })
    console.log(figures)
    expect(broken).toEqual([])
  }, 150_000)
})
