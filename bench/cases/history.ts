import { Client } from 'pg'
import { insertEndedTasks } from '../../test/support/database/insertEndedTasks.ts'
import type { BenchCase, BenchService } from '../support/benchWorld.ts'
import { generationShot, taskBody } from '../support/benchWorld.ts'
import { loadOf, shoot } from '../support/load.ts'
import { percentile } from '../support/runBench.ts'
import { succeeded } from './tasks.ts'

const insertedAtOnce = 50_000

/** Submit, gate and lookup beside 1,000,000 finished tasks. */
export const longHistory: BenchCase = {
  name: 'history',
  title: '1,000,000 finished tasks (--quick: 100,000)',
  long: true,
  run: async ({ startService, quick, figure }) => {
    const service = await startService()
    try {
      const { accountId } = await service.account(1_000_000_000)
      // This service is new: without this load, later figures would be better only because V8 has compiled
      // more.
      await loadOf(quick ? 500 : 5_000, 20, generationShot(service))
      const before = await p50s(service)
      const rows = quick ? 100_000 : 1_000_000
      for (let made = 0; made < rows; made += insertedAtOnce) {
        await insertEndedTasks(service.pool, { accountId, count: insertedAtOnce })
        console.error(`${made + insertedAtOnce} of ${rows} finished tasks`)
      }
      await vacuum(service)
      const grown = await p50s(service)
      for (const [n, name] of ['submit', 'synchronous call', 'lookup'].entries()) {
        const ratio = (grown[n] ?? NaN) / (before[n] ?? NaN)
        figure(`${name} p50, of without them`, ratio, 'x', { atMost: 1.2 })
      }
    } finally {
      await service.stop()
    }
  },
}

/** Returns the p50 of submits, calls and lookups, one after the other, in milliseconds. */
async function p50s(service: BenchService): Promise<readonly number[]> {
  const { url, headers, client } = service
  const count = 300
  const submitMs: number[] = []
  let taskId = ''
  // Each submit follows the end of the task before it. Otherwise the backlog of tasks would decide the
  // figure.
  while (submitMs.length < count) {
    const sentAtMs = performance.now()
    taskId = (await client.accepted(taskBody())).task_id
    submitMs.push(performance.now() - sentAtMs)
    await succeeded(service, taskId)
  }
  const call = await loadOf(count, 1, generationShot(service))
  // A lookup takes a millisecond or two: 300 of them would all fall into one slow moment of the machine.
  const lookup = await loadOf(5 * count, 1, (agent) =>
    shoot(agent, `${url}/v1/tasks/${taskId}`, { headers }),
  )
  return [percentile(submitMs, 0.5), call.p50Ms, lookup.p50Ms]
}

/**
 * A history that grew over weeks was vacuumed long ago. This one would be vacuumed during the measurement.
 * The pool of the service limits the time of a statement, so this takes a connection of its own.
 */
async function vacuum({ databaseUrl }: BenchService): Promise<void> {
  const client = new Client(databaseUrl)
  await client.connect()
  await client.query('vacuum (analyze)')
  await client.end()
}
