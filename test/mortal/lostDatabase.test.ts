import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { silentMs } from '../../src/domain/limits.ts'
import { createClient } from '../support/clients/client.ts'
import { generateBody } from '../support/clients/requestBodies.ts'
import { generateMany } from '../support/clients/syncCalls.ts'
import type { CuttableWay } from '../support/cuttableWay.ts'
import { openCuttableWay } from '../support/cuttableWay.ts'
import { moneyOf } from '../support/database/money.ts'
import { outcomesOf } from '../support/database/testAttempts.ts'
import { startTestService } from '../support/service/testService.ts'
import { stackStartMsMax } from '../support/stack/embeddedStack.ts'

/** Longer than the silence after which a call counts as lost. */
const awayMs = silentMs + 5_000
/** Longer than a worker needs after an outage until it may say again that a call is lost. */
const afterMs = silentMs + 5_000

it(
  'an outage of PostgreSQL during calls makes no process lose them: each is made once and charged once',
  async () => {
    let way: CuttableWay | undefined
    const service = await startTestService({
      workers: 2,
      pooler: async (databaseUrl) => {
        const url = new URL(databaseUrl)
        way = await openCuttableWay(`127.0.0.1:${url.port}`)
        url.host = way.address
        return url.href
      },
      // The session connections go the same way.
      environment: { DATABASE_SESSION_URL: '' },
    })
    onTestFinished(async () => {
      way?.cut(false)
      await service.stop()
      way?.close()
    })
    const client = createClient(service.url, (await service.account()).secret)
    const prompt = 'Outage [sim:hold]'
    const ids = await Promise.all(
      Array.from({ length: 5 }, async () => {
        return (await client.accepted(generateBody({ prompt }))).task_id
      }),
    )
    const answers = generateMany(client, 5, prompt)
    await service.simulator.waitForCalls(10, { prompt })
    way?.cut(true)
    await sleep(awayMs)
    way?.cut(false)
    await sleep(afterMs)
    await service.simulator.release({ prompt })
    expect((await answers).map((answer) => answer?.status)).toEqual(Array(5).fill(200))
    const ends = await Promise.all(ids.map((taskId) => client.ended(taskId)))
    expect(ends.map(({ status }) => status)).toEqual(Array(5).fill('succeeded'))
    expect(await service.simulator.calls({ prompt })).toHaveLength(10)
    for (const taskId of ids) {
      expect(await outcomesOf(service.pool, taskId)).toEqual(['succeeded image'])
      expect(await moneyOf(service.pool, taskId)).toEqual(['hold', 'settle'])
    }
  },
  stackStartMsMax + awayMs + afterMs + 60_000,
)
