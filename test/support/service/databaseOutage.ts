import { setTimeout as sleep } from 'node:timers/promises'
import { silentMs } from '../../../src/domain/limits.ts'
import { createClient } from '../clients/client.ts'
import { generateBody } from '../clients/requestBodies.ts'
import { generateMany } from '../clients/syncCalls.ts'
import type { CuttableWay } from '../cuttableWay.ts'
import { openCuttableWay } from '../cuttableWay.ts'
import { moneyOf } from '../database/money.ts'
import { outcomesOf } from '../database/testAttempts.ts'
import { startTestService } from './testService.ts'

/** Longer than the silence after which a call counts as lost. */
const awayMs = silentMs + 5_000
/** Longer than a worker needs after an outage until it may say again that a call is lost. */
const afterMs = silentMs + 5_000

/**
 * Cuts a service of its own off from PostgreSQL for 20 seconds while five tasks and five callers wait for held calls,
 * and releases the calls 20 seconds later. Returns what all of them got. It mostly waits.
 */
export async function playDatabaseOutage() {
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
  try {
    const { pool, simulator } = service
    const client = createClient(service.url, (await service.account()).secret)
    const prompt = 'Outage [sim:hold]'
    const accepting = Array.from({ length: 5 }, () => client.accepted(generateBody({ prompt })))
    const accepted = await Promise.all(accepting)
    const answering = generateMany(client, 5, prompt)
    await simulator.waitForCalls(10, { prompt })
    way?.cut(true)
    await sleep(awayMs)
    way?.cut(false)
    await sleep(afterMs)
    await simulator.release({ prompt })
    const answers = await answering
    const ends = await Promise.all(accepted.map(({ task_id }) => client.ended(task_id)))
    const taskIds = ends.map(({ task_id }) => task_id)
    return {
      answers: answers.map((answer) => answer?.status),
      ends: ends.map(({ status }) => status),
      calls: (await simulator.calls({ prompt })).length,
      tasks: await Promise.all(
        taskIds.map(async (taskId) => {
          const [outcomes, money] = [await outcomesOf(pool, taskId), await moneyOf(pool, taskId)]
          return [...outcomes, ...money].join(', ')
        }),
      ),
    }
  } finally {
    way?.cut(false)
    await service.stop()
    way?.close()
  }
}
