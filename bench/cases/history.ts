import { Client } from 'pg'
import type { BenchCase, Figures } from '../support/benchCase.ts'
import type { BenchService } from '../support/benchWorld.ts'
import { generationShot, taskBody } from '../support/benchWorld.ts'
import { loadOf, shoot } from '../support/load.ts'
import { percentile } from '../support/runBench.ts'
import { succeeded } from './tasks.ts'

const finished = 1_000_000
const copiesAtOnce = 50_000
const ratio = { unit: 'x', goal: { atMost: 1.2 } } as const

/** Submit, gate and lookup beside 1,000,000 finished tasks, and while a snapshot stays open under load. */
export const longHistory: BenchCase = {
  name: 'history',
  title: '1,000,000 finished tasks, or a snapshot that stays open under load',
  long: true,
  figures: {
    'submit p50 with history': ratio,
    'synchronous call p50 with history': ratio,
    'lookup p50 with history': ratio,
    'submit p50 with an open snapshot': ratio,
    'synchronous call p50 with an open snapshot': ratio,
    'lookup p50 with an open snapshot': ratio,
  },
  round: async ({ startService, quick, say }) => {
    const service = await startService()
    const underLoad = quick ? 500 : 5_000
    try {
      const { task_id: taskId } = await service.client.accepted(taskBody())
      await service.client.ended(taskId)
      // This service is new: without this load, later figures would be better only because V8 has compiled more.
      await loadOf(underLoad, 20, generationShot(service))
      const before = await p50s(service, taskId)
      const rows = quick ? finished / 10 : finished
      for (let made = 0; made < rows; made += copiesAtOnce) {
        await copyTask(service, taskId, copiesAtOnce)
        say(`${made + copiesAtOnce} of ${rows} finished tasks`)
      }
      // A history that grew over weeks was vacuumed long ago. This one would be vacuumed during the measurement.
      const grown = await beside(service.databaseUrl, ['vacuum (analyze)'], () =>
        p50s(service, taskId),
      )
      const snapshot = ['begin isolation level repeatable read', 'select from installation']
      const open = await beside(service.databaseUrl, snapshot, async () => {
        await loadOf(underLoad, 20, generationShot(service))
        return p50s(service, taskId)
      })
      return {
        ...ratios(grown, before, 'with history'),
        ...ratios(open, grown, 'with an open snapshot'),
      }
    } finally {
      await service.stop()
    }
  },
}

function ratios(after: Figures, before: Figures, what: string): Figures {
  return Object.fromEntries(
    Object.entries(after).map(([name, p50]) => [
      `${name} p50 ${what}`,
      p50 / (before[name] ?? NaN),
    ]),
  )
}

/** Measures twice, and returns the second measurement: the first one warms up. */
async function p50s(service: BenchService, taskId: string): Promise<Figures> {
  await p50sOnce(service, taskId)
  return p50sOnce(service, taskId)
}

async function p50sOnce(service: BenchService, taskId: string): Promise<Figures> {
  const { url, headers } = service
  const count = 300
  const submit = await submitsAlone(service, count)
  const call = await loadOf(count, 1, generationShot(service))
  // A lookup takes a millisecond or two: 300 of them would all fall into one slow moment of the machine.
  const lookup = await loadOf(5 * count, 1, (agent) =>
    shoot(agent, `${url}/v1/tasks/${taskId}`, { headers }),
  )
  return { submit, 'synchronous call': call.p50Ms, lookup: lookup.p50Ms }
}

/**
 * Submits tasks, each after the task before it has ended, and returns the p50 of the submits in milliseconds. Submits
 * that follow each other at once would wait for a processor instead: Temporal and the worker need ten times as long for
 * a task as its submit, and the backlog would decide the figure.
 */
async function submitsAlone(service: BenchService, count: number): Promise<number> {
  const ms: number[] = []
  while (ms.length < count) {
    const sentAtMs = performance.now()
    const { task_id: taskId } = await service.client.accepted(taskBody())
    ms.push(performance.now() - sentAtMs)
    await succeeded(service, taskId)
  }
  return percentile(ms, 0.5)
}

/** Copies the row of a finished task and its attempt under new ids. */
async function copyTask({ pool }: BenchService, taskId: string, count: number): Promise<void> {
  const columns = async (table: string) => {
    const { rows } = await pool.query<{ name: string }>(
      `select attname as name from pg_attribute
       where attrelid = $1::regclass and attnum > 0 and not attisdropped
         and attgenerated = '' and attidentity = '' and attname <> 'task_id'`,
      [table],
    )
    return rows.map(({ name }) => name).join(', ')
  }
  const [taskColumns, attemptColumns] = [await columns('task'), await columns('attempt')]
  await pool.query(
    `with made as (
       select 'task_' || md5(random()::text || n) as task_id from generate_series(1, $2) n
     ), tasks as (
       insert into task (task_id, ${taskColumns})
       select made.task_id, ${taskColumns} from made, task where task.task_id = $1
     )
     insert into attempt (task_id, ${attemptColumns})
     select made.task_id, ${attemptColumns} from made, attempt where attempt.task_id = $1`,
    [taskId, count],
  )
}

/** Sends statements on a connection of their own, which has no time limits, and keeps it open during the work. */
async function beside<Value>(
  databaseUrl: string,
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
