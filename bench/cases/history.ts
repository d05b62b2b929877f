import { Client } from 'pg'
import { asyncBody, generationShot, succeeded } from './tasks.ts'
import type { BenchCase, Figures } from '../support/benchCase.ts'
import type { BenchService } from '../support/benchWorld.ts'
import { loadOf, shoot } from '../support/load.ts'
import { percentile } from '../support/runBench.ts'
import { createClient } from '../../test/support/clients/client.ts'

const finished = 1_000_000
const copiesAtOnce = 50_000

/** Submit, gate and lookup beside 1,000,000 finished tasks, and while a snapshot stays open under load. */
export const longHistory: BenchCase = {
  name: 'history',
  title: '1,000,000 finished tasks, or a snapshot that stays open under load',
  long: true,
  figures: {
    'submit p50 with history': { unit: 'x', goal: { atMost: 1.2 } },
    'synchronous call p50 with history': { unit: 'x', goal: { atMost: 1.2 } },
    'lookup p50 with history': { unit: 'x', goal: { atMost: 1.2 } },
    'submit p50 with an open snapshot': { unit: 'x', goal: { atMost: 1.2 } },
    'synchronous call p50 with an open snapshot': { unit: 'x', goal: { atMost: 1.2 } },
    'lookup p50 with an open snapshot': { unit: 'x', goal: { atMost: 1.2 } },
  },
  round: async ({ startService, quick, say }) => {
    const service = await startService({})
    const underLoad = quick ? 500 : 5_000
    try {
      const client = createClient(service.url, service.owner.secret)
      const { task_id: taskId } = await client.accepted(asyncBody())
      await client.ended(taskId)
      // This service is new: without this load, later figures would be better only because V8 has compiled more.
      await loadOf(underLoad, 20, generationShot(service))
      await p50s(service, taskId)
      const before = await p50s(service, taskId)
      const rows = quick ? finished / 10 : finished
      for (let made = 0; made < rows; made += copiesAtOnce) {
        await copyTask(service, taskId, copiesAtOnce)
        say(`${made + copiesAtOnce} of ${rows} finished tasks`)
      }
      // A history that grew over weeks was vacuumed long ago. This one would be vacuumed during the measurement.
      await vacuum(service.databaseUrl)
      await p50s(service, taskId)
      const grown = await p50s(service, taskId)
      const open = await withSnapshot(service, async () => {
        await loadOf(underLoad, 20, generationShot(service))
        await p50s(service, taskId)
        return p50s(service, taskId)
      })
      return {
        'submit p50 with history': ratio(grown, before, 'submit'),
        'synchronous call p50 with history': ratio(grown, before, 'sync'),
        'lookup p50 with history': ratio(grown, before, 'lookup'),
        'submit p50 with an open snapshot': ratio(open, grown, 'submit'),
        'synchronous call p50 with an open snapshot': ratio(open, grown, 'sync'),
        'lookup p50 with an open snapshot': ratio(open, grown, 'lookup'),
      }
    } finally {
      await service.stop()
    }
  },
}

/** Not by the service's pool, which limits the time of a statement. */
async function vacuum(databaseUrl: string): Promise<void> {
  const client = new Client(databaseUrl)
  await client.connect()
  await client.query('vacuum (analyze)')
  await client.end()
}

const ratio = (after: Figures, before: Figures, name: string) =>
  (after[name] ?? Number.NaN) / (before[name] ?? Number.NaN)

async function p50s(service: BenchService, taskId: string): Promise<Figures> {
  const count = 300
  const submit = await submitsAlone(service, count)
  const sync = await loadOf(count, 1, generationShot(service))
  // A lookup takes a millisecond or two: 300 of them would all fall into one slow moment of the machine.
  const lookup = await loadOf(5 * count, 1, async (agent) => {
    await shoot(agent, `${service.url}/v1/tasks/${taskId}`, { headers: service.headers })
  })
  return { submit, sync: sync.p50Ms, lookup: lookup.p50Ms }
}

/**
 * Submits tasks, each after the task before it has ended, and returns the p50 of the submits in milliseconds. Submits
 * that follow each other at once would wait for a processor instead: Temporal and the worker need ten times as long for
 * a task as its submit, and the backlog would decide the figure.
 */
async function submitsAlone(service: BenchService, count: number): Promise<number> {
  const client = createClient(service.url, service.owner.secret)
  const ms: number[] = []
  while (ms.length < count) {
    const sentAtMs = performance.now()
    const { task_id: taskId } = await client.accepted(asyncBody())
    ms.push(performance.now() - sentAtMs)
    await succeeded(client, taskId)
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

async function withSnapshot<Value>(
  { pool }: BenchService,
  work: () => Promise<Value>,
): Promise<Value> {
  const client = await pool.connect()
  try {
    // The pool ends transactions that are idle for ten seconds.
    await client.query('set idle_in_transaction_session_timeout = 0')
    await client.query('begin isolation level repeatable read')
    await client.query('select count(*) from installation')
    return await work()
  } finally {
    // Closes the connection, which ends the transaction.
    client.release(true)
  }
}
