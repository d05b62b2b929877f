import { setTimeout as sleep } from 'node:timers/promises'
import { Client, Pool } from 'pg'
import { Agent } from 'undici'
import { insertEndedTasks } from '../../test/support/database/insertEndedTasks.ts'
import { freePort } from '../../test/support/ports.ts'
import { adminKeys, adminSecrets } from '../../test/support/service/adminClient.ts'
import { peakMiB } from '../../test/support/service/processUsage.ts'
import { startDarkroomProcess } from '../../test/support/service/testService.ts'
import { timed } from '../../test/support/timing.ts'
import type { BenchCase, BenchService, BenchWorld } from '../support/benchWorld.ts'
import { generationShot, taskBody } from '../support/benchWorld.ts'
import type { Load } from '../support/load.ts'
import { ask, loadOf, shoot } from '../support/load.ts'
import { processTree } from '../support/processes.ts'
import { percentile } from '../support/runBench.ts'
import { succeeded } from './tasks.ts'

const insertedAtOnce = 50_000
/** The history belongs to so many accounts, whose tasks ended in turn over these days. */
const accounts = 40
const days = 90
const purged = 20_000
const verifyMsMax = 900_000

/** What reads a history: one of its accounts, and operators. */
const pages = {
  tasks: '/v1/tasks',
  'tasks of a model': '/v1/tasks?model=familyb-image-2-vip',
  balance: '/v1/account',
  'all tasks': '/admin/v1/tasks',
  'failed tasks': '/admin/v1/tasks?status=failed',
}
/** Sums over every account take as long as their days have tasks: those of today for the overview, else of a month. */
const sums = {
  usage: '/v1/usage',
  overview: '/admin/v1/overview',
  'all usage': '/admin/v1/usage',
}

/** Each request, the purge and the check of the ledger beside many finished tasks, and without them. */
export const longHistory: BenchCase = {
  name: 'history',
  title: '1,000,000 finished tasks (--quick: 100,000; --tasks N)',
  long: true,
  run: async (world) => {
    const { startService, quick, figure, tasks = quick ? 100_000 : 1_000_000 } = world
    const internalPort = String(await freePort())
    const service = await startService({ environment: { INTERNAL_PORT: internalPort } })
    const environment = { ...service.environment, ADMIN_KEYS: adminKeys }
    const folder = service.environment['DATA_DIR'] ?? ''
    const admin = await startDarkroomProcess('admin', folder, environment)
    try {
      const owners = await Promise.all(
        Array.from({ length: accounts }, () => service.account(1_000_000_000)),
      )
      const metrics = `http://127.0.0.1:${internalPort}/metrics`
      const places = { admin: admin.url, metrics, owner: owners[0]?.name ?? '' }
      // This service is new: without this load, later figures would be better only because V8 has compiled
      // more.
      await loadOf(quick ? 500 : 5_000, 20, generationShot(service))
      await p50s(service, places)
      const before = await p50s(service, places)
      const secondsToInsert = (await timed(() => insertHistory(service, owners, tasks))) / 1000
      // A history that grew over weeks was vacuumed long ago. This one would be vacuumed during the measurement.
      await runLong(service, 'vacuum (analyze)')
      const { rows } = await service.pool.query<{ table: string; mib: number }>(sizesSql)
      figure('time to insert', secondsToInsert, 's')
      for (const { table, mib } of rows) figure(`table ${table} with its indexes`, mib, 'MiB')
      const grown = await p50s(service, places)
      for (const [name, ms] of Object.entries(grown)) {
        const usual = before[name] ?? NaN
        // A page is as fast beside any history: a millisecond more is no growth with it.
        const goal = name in sums ? {} : { atMost: Math.max(1.2, 1 + 1 / usual) }
        figure(`${name} p50, ${ms.toFixed(1)} ms, of without them`, ms / usual, 'x', goal)
      }
      await purgeBesideCalls(world, service)
      await checkLedger(world, places.admin)
    } finally {
      await admin.stop(0)
      await service.stop()
    }
  },
}

/** Inserts the history over a connection of its own, because the pool of the service limits the time of a statement. */
async function insertHistory(
  { databaseUrl }: BenchService,
  owners: readonly Owner[],
  tasks: number,
): Promise<void> {
  const everySeconds = (days * 86_400) / tasks
  const pool = new Pool({ connectionString: databaseUrl, max: 1 })
  for (let made = 0; made < tasks; made += insertedAtOnce) {
    const owner = owners[(made / insertedAtOnce) % accounts]
    if (owner === undefined) throw new Error('Bug: the history has no owner')
    const { accountId, keyId } = owner
    const ageSeconds = Math.round((tasks - made) * everySeconds)
    const at = new Date(Date.now() - ageSeconds * 1000).toISOString()
    const every = `${everySeconds} seconds`
    await insertEndedTasks(pool, { accountId, keyId, count: insertedAtOnce, at, every })
    console.error(`${made + insertedAtOnce} of ${tasks} finished tasks`)
  }
  await pool.end()
}

const sizesSql = `
  select relname as table, pg_total_relation_size(oid)::float8 / 1048576 as mib from pg_class
  where relkind = 'r' and relnamespace = 'public'::regnamespace and pg_total_relation_size(oid) > 1048576
  order by mib desc`

type Owner = Awaited<ReturnType<BenchService['account']>>
/** Where operators and Prometheus read, and an account of the history. */
type Places = { readonly admin: string; readonly metrics: string; readonly owner: string }

/** Returns the p50 of each kind of request, one after the other, in milliseconds. */
async function p50s(
  service: BenchService,
  { admin, metrics, owner }: Places,
): Promise<Readonly<Record<string, number>>> {
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
  const p50s = { submit: percentile(submitMs, 0.5), 'synchronous call': call.p50Ms }
  const operator = { authorization: `Bearer ${adminSecrets.boss}` }
  const gets: readonly (readonly [string, string, Readonly<Record<string, string>>])[] = [
    ['lookup', `${url}/v1/tasks/${taskId}`, headers],
    ['scrape', metrics, {}],
    ['ledger of an account', `${admin}/admin/v1/ledger?account=${owner}`, operator],
    ...Object.entries({ ...pages, ...sums }).map(([name, path]) =>
      path.startsWith('/admin')
        ? ([name, admin + path, operator] as const)
        : ([name, url + path, headers] as const),
    ),
  ]
  const reads: Record<string, number> = {}
  for (const [name, from, sent] of gets) {
    // A lookup takes a millisecond or two: few of them would all fall into one slow moment of the machine.
    const times = name in sums ? 20 : name === 'lookup' ? 5 * count : count / 3
    const load: Load = await loadOf(times, 1, (agent) => shoot(agent, from, { headers: sent }))
    reads[name] = load.p50Ms
  }
  return { ...p50s, ...reads }
}

/** The times of calls while the worker purges, of without that. */
async function purgeBesideCalls({ figure }: BenchWorld, service: BenchService): Promise<void> {
  const calls = () => loadOf(500, 4, generationShot(service))
  const alone = await calls()
  await runLong(
    service,
    `update task set purge_at = now() where task_id in (select task_id from task
     where completed_at is not null order by created_at limit ${purged})`,
  )
  const due = async () => {
    const { rows } = await service.pool.query<{ due: number }>(
      'select count(*)::int as due from task where purge_at <= now()',
    )
    return rows[0]?.due ?? 0
  }
  let besides: Load | undefined
  const ms = await timed(async () => {
    while ((await due()) > 0) {
      besides = await calls()
      await sleep(100)
    }
  })
  figure(`time to purge ${purged} tasks beside calls`, ms / 1000, 's')
  figure('  p99 of the calls, of without', (besides?.p99Ms ?? NaN) / alone.p99Ms, 'x')
}

/** How long the check of the whole ledger takes, and the memory of PostgreSQL's processes meanwhile. */
async function checkLedger({ figure, pidOf }: BenchWorld, admin: string): Promise<void> {
  const authorization = `Bearer ${adminSecrets.boss}`
  const headers = { authorization, 'content-type': 'application/json' }
  let violations = NaN
  const agent = new Agent({ headersTimeout: verifyMsMax })
  const ms = await timed(async () => {
    const { text } = await ask(agent, `${admin}/admin/v1/ledger/verify`, { headers, body: '{}' })
    violations = Object(JSON.parse(text)).violations?.length
  })
  await agent.close()
  const peaks = processTree(pidOf('postgres')).map(({ pid }) => peakMiB(pid))
  figure('time of ledger verify', ms / 1000, 's')
  figure('  violations', violations, '', { atMost: 0 })
  figure('  the largest process of PostgreSQL', Math.max(...peaks), 'MiB')
}

/** Runs a statement over a connection of its own, because the pool of the service limits the time of each. */
async function runLong({ databaseUrl }: BenchService, statement: string): Promise<void> {
  const client = new Client(databaseUrl)
  await client.connect()
  await client.query(statement)
  await client.end()
}
