import { beforeAll, describe, expect, it } from 'vitest'
import { processFaults } from '../support/chaos/chaosFaults.ts'
import { startChaosService } from '../support/chaos/chaosService.ts'
import { runChaos } from '../support/chaos/runChaos.ts'
import type { TestService } from '../support/service/testService.ts'
import { stackStartMsMax } from '../support/stack/embeddedStack.ts'

let service: TestService
beforeAll(async () => {
  service = await startChaosService(400)
  return () => service.stop()
}, stackStartMsMax)

describe('the service under random faults', () => {
  it('keeps every invariant while processes are killed and stopped, connections are cut and the upstream fails [record-5]', async () => {
    const { broken, figures } = await runChaos({
      service,
      seed: 20_261_121,
      tasks: 50,
      clients: 12,
      strikeMs: 8_000,
      pauseMs: 1_000,
      drainMs: 60_000,
      faults: (chance) => processFaults(service, chance, [500, 2_500]),
    })
    console.log(figures)
    expect(broken).toEqual([])
  }, 120_000)
})
