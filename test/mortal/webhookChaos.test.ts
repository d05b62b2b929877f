import { beforeAll, describe, expect, it } from 'vitest'
import { processFaults } from '../support/chaos/chaosFaults.ts'
import { startChaosService } from '../support/chaos/chaosService.ts'
import type { TestService } from '../support/service/testService.ts'
import { stackStartMsMax } from '../support/stack/embeddedStack.ts'
import { runWebhookChaos } from '../support/webhooks/runWebhookChaos.ts'

let service: TestService
beforeAll(async () => {
  service = await startChaosService(200)
  return () => service.stop()
}, stackStartMsMax)

describe('webhooks under random faults', () => {
  it('deliver every end to a receiver that heals, one event for each id, and nothing after deletion [hook-24]', async () => {
    const { broken, figures } = await runWebhookChaos({
      service,
      seed: 20_261_122,
      tasks: 40,
      strikeMs: 4_000,
      pauseMs: 700,
      drainMs: 60_000,
      faults: (chance) => processFaults(service, chance, [500, 2_500]),
    })
    console.log(figures)
    expect(broken).toEqual([])
  }, 120_000)
})
