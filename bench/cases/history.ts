import { Client } from 'pg'
import { insertEndedTasks } from '../../test/support/database/insertEndedTasks.ts'
import type { BenchService } from '../support/benchService.ts'
import { generationShot, taskBody } from '../support/benchWorld.ts'
import type { BenchCase, Figure } from '../support/cases.ts'
import { loadOf, shoot } from '../support/load.ts'
import { percentile, say } from '../support/runBench.ts'
import { succeeded } from './tasks.ts'

const insertedAtOnce = 50_000

/** Submit, gate and lookup beside 1,000,000 finished tasks, and while a snapshot stays open under load. */
export const longHistory: BenchCase = {
  name: 'history',
  title: '1,000,000 finished tasks, or a snapshot that stays open under load',
  long: true,
  round: async ({ startService, quick }) => {
    const service = await startService()
    const underLoad = quick ? 500 : 5_000
    try {
      const { accountId } = await service.account(1_000_000_000)
      // This service is new: without this load, later figures would be better only because V8 has compiled more.
      await loadOf(underLoad, 20, generationShot(service))
      const before = await p50s(service)
      const rows = quick ? 100_000 : 1_000_000
      for (let made = 0; made < rows; made += insertedAtOnce) {
        await insertEndedTasks(service.pool, { accountId, count: insertedAtOnce })
        say(`${made + insertedAtOnce} of ${rows} finished tasks`)
      }
      // A history that grew over weeks was vacuumed long ago. This one would be vacuumed during the measurement.
      const grown = await afterStatements(service, ['vacuum (analyze)'], () => p50s(service))
      const snapshot = ['begin isolation level repeatable read', 'select from installation']
      const open = await afterStatements(service, snapshot, async () => {
        await loadOf(underLoad, 20, generationShot(service))
        return p50s(service)
      })
      return [
        ...ratios(grown, before, 'with history'),
        ...ratios(open, grown, 'with an open snapshot'),
      ]
    } finally {
      await service.stop()
    }
  },
}

type P50s = Readonly<Record<'submit' | 'synchronous call' | 'lookup', number>>

function ratios(after: P50s, before: P50s, what: string): readonly Figure[] {
  return (['submit', 'synchronous call', 'lookup'] as const).map((name) => ({
    name: `${name} p50 ${what}`,
    value: after[name] / before[name],
    unit: 'x',
    goal: { atMost: 1.2 },
  }))
}

/** Measures one request after the other. */
async function p50s(service: BenchService): Promise<P50s> {
  const { url, headers, client } = service
  const count = 300
  const submitMs: number[] = []
  let taskId = ''
  // Each submit follows the end of the task before it. Otherwise the backlog of tasks would decide the figure.
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
  const submit = percentile(submitMs, 0.5)
  return { submit, 'synchronous call': call.p50Ms, lookup: lookup.p50Ms }
}

/** Sends statements on a connection of their own, which has no time limits, and keeps it open during the work. */
async function afterStatements<Value>(
  { databaseUrl }: BenchService,
  statements: readonly string[],
  work: () => Promise<Value>,
): Promise<Value> {
  const client = new Client(databaseUrl)
  await client.connect()
  try {
    for (const statement of statements) await client.query(statement)
    return await work()
  } finally {
    await client.end()
  }
}
