/**
 * node bench/hour.ts [--seconds N] [--rate N]
 *
 * An hour of load, or so many seconds: 15 tasks a second of every kind through two APIs and two workers. What grows with
 * time shows in the last third beside the middle one: memory, descriptors, connections, dead rows, and the p99 of submits
 * and lookups. Tables grow with what they keep, so their sizes are only told.
 */
import { readdirSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { verifyLedger } from '../src/store/accounts/verifyLedger.ts'
import { createClient } from '../test/support/clients/client.ts'
import { editBody, generateBody } from '../test/support/clients/requestBodies.ts'
import * as call from '../test/support/clients/syncCalls.ts'
import { residentMiB } from '../test/support/service/processUsage.ts'
import type { BenchService } from './support/benchWorld.ts'
import { withSimulated } from './support/benchWorld.ts'
import type { Bench } from './support/runBench.ts'
import { percentile, runBench } from './support/runBench.ts'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '3600' },
    rate: { type: 'string', default: '15' },
  },
})
const seconds = Number(values.seconds)
const everyMs = 1_000 / Number(values.rate)
const sampleMs = 5_000
const endsMsMax = 120_000
const growthMax = 1.1

/** Sizes are of the databases: this service's own, and those of Temporal. */
const countsSql = `
  select (select count(*)::int from pg_stat_activity where datname = current_database()) as connections,
    (select sum(n_dead_tup)::int from pg_stat_user_tables) as "dead rows",
    (select sum(pg_table_size(relid))::float8 / 1048576 from pg_stat_user_tables) as "size of tables, MiB",
    (select sum(pg_indexes_size(relid))::float8 / 1048576 from pg_stat_user_tables) as "size of indexes, MiB",
    (select sum(pg_database_size(datname))::float8 / 1048576 from pg_database where datname like 'temporal%')
      as "size of Temporal, MiB"`

/** A value and when it was seen, from 0 at the start of the load to 1 at its end. */
type Sample = { readonly at: number; readonly value: number }

await runBench((bench) =>
  withSimulated({ apis: 2, workers: 2, latency: '200-3000' }, (service) => runLoad(bench, service)),
)

async function runLoad(bench: Bench, service: BenchService): Promise<void> {
  const samples: Record<string, Sample[]> = {}
  const startedAtMs = performance.now()
  const age = () => (performance.now() - startedAtMs) / (seconds * 1_000)
  const see = (name: string, value: number) => (samples[name] ??= []).push({ at: age(), value })
  const failures: string[] = []
  const tasks: Promise<unknown>[] = []
  for (let sampledAtMs = 0; age() < 1;) {
    const n = tasks.length
    const failed = (error: Error) => void failures.push(error.message)
    tasks.push(runTask(service, n, see).catch(failed))
    if (performance.now() - sampledAtMs > sampleMs) {
      sampledAtMs = performance.now()
      await sampleUsage(bench, service, see)
    }
    await sleep(Math.max(0, startedAtMs + (n + 1) * everyMs - performance.now()))
  }
  await Promise.all(tasks)
  report(bench, samples)
  bench.figure('tasks', tasks.length)
  for (const message of new Set(failures)) console.log(message.slice(0, 300))
  bench.figure('failures', failures.length, '', { atMost: 0 })
  const violations = await verifyLedger(service.pool)
  bench.figure('violations of the ledger', violations.length, '', { atMost: 0 })
}

type See = (name: string, value: number) => void

/** Runs one task of the mix to its end, and reads its image. Throws when it does not succeed. */
async function runTask(service: BenchService, n: number, see: See): Promise<void> {
  const { url = '' } = service.apis[n % 2] ?? {}
  const client = createClient(url, service.client.authorization.replace('Bearer ', ''))
  const prompt = `task ${n}`
  const kind = Math.floor(n / 2) % 10
  if (kind === 4 || kind === 5)
    return void (await call.textOf200(await call.generate(client, { prompt })))
  if (kind === 6) return void (await call.textOf200(await call.edit(client, { prompt })))
  if (kind > 6) {
    const text = await call.textOf200(await call.generate(client, { prompt, stream: true }))
    if (text.includes('event: error')) throw new Error(text)
    return
  }
  const body = kind === 3 ? editBody({ prompt }) : generateBody({ prompt })
  const sentAtMs = performance.now()
  const { task_id: taskId } = await client.accepted(body, { 'idempotency-key': prompt })
  see('submit', performance.now() - sentAtMs)
  const askedAtMs = performance.now()
  await call.textOf200(await client.lookup(taskId))
  see('lookup', performance.now() - askedAtMs)
  const { output } = await client.ended(taskId, { limitMs: endsMsMax })
  const image = output?.assets[0]?.url ?? ''
  await call.textOf200(await fetch(image))
  if (kind === 1) await call.textOf200(await fetch(`${image}&width=128&format=webp`))
  if (kind !== 2) return
  const { authorization } = client
  const request = { method: 'DELETE', headers: { authorization } }
  const { ok, status } = await fetch(`${url}/v1/tasks/${taskId}`, request)
  if (!ok) throw new Error(`the deletion answered ${status}`)
}

async function sampleUsage({ pidOf }: Bench, service: BenchService, see: See): Promise<void> {
  for (const [name, processes] of Object.entries({ API: service.apis, worker: service.workers })) {
    for (const [n, { pid }] of processes.entries()) {
      see(`memory of ${name} ${n + 1}, MiB`, residentMiB(pid))
      see(`descriptors of ${name} ${n + 1}`, readdirSync(`/proc/${pid}/fd`).length)
    }
  }
  see('memory of Temporal, MiB', residentMiB(pidOf('temporal')))
  const { rows } = await service.pool.query<Readonly<Record<string, number>>>(countsSql)
  for (const [name, value] of Object.entries(rows[0] ?? {})) see(name, value)
}

/** Prints each value of the three thirds: of times the p99, else the median. */
function report({ figure }: Bench, samples: Readonly<Record<string, readonly Sample[]>>): void {
  for (const [name, seen] of Object.entries(samples)) {
    const isTime = name === 'submit' || name === 'lookup'
    const thirds = [0, 1, 2].map((third) => {
      const own = seen.filter(({ at }) => Math.min(2, Math.floor(at * 3)) === third)
      return percentile(
        own.map(({ value }) => value),
        isTime ? 0.99 : 0.5,
      )
    })
    const [, middle = NaN, last = NaN] = thirds
    const shown = thirds.map((value) => value.toFixed(1)).join(', ')
    const goal = name.startsWith('size') ? {} : { atMost: growthMax }
    figure(`${name}${isTime ? ' p99, ms' : ''}: ${shown}`, last / middle, 'x', goal)
  }
}
