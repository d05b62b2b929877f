/**
 * node bench/promises.ts [--quick] [NAME…]
 *
 * Tries promises that need minutes or a quiet machine, each on a service of its own. With --quick a tenth of the load shows that the command works.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { verifyLedger } from '../src/store/accounts/verifyLedger.ts'
import type { Client } from '../test/support/clients/client.ts'
import { createClient } from '../test/support/clients/client.ts'
import { openEvents, readEvents } from '../test/support/clients/eventStream.ts'
import { generateBody } from '../test/support/clients/requestBodies.ts'
import { content, generate } from '../test/support/clients/syncCalls.ts'
import { insertEndedTasks } from '../test/support/database/insertEndedTasks.ts'
import { insertTask } from '../test/support/database/insertTask.ts'
import { endFirst } from '../test/support/service/endProcess.ts'
import { peakMiB } from '../test/support/service/processUsage.ts'
import { runParallel, timed } from '../test/support/timing.ts'
import type { BenchService, SimulatedOptions } from './support/benchWorld.ts'
import { withSimulated } from './support/benchWorld.ts'
import { loadAtRate, shoot } from './support/load.ts'
import type { Bench } from './support/runBench.ts'
import { chooseFrom, describeMs, percentile, runBench } from './support/runBench.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: 'boolean', default: false } },
})
const scaled = (count: number) => (values.quick ? count / 10 : count)
const limitMs = 600_000

type Try = (service: BenchService, bench: Bench) => Promise<void>

/** Behind many tasks of another account on a channel with four places, others still get their turn. */
const backlog: Try = async ({ url, account, client, workers }, { figure }) => {
  const many = createClient(url, (await account()).secret)
  const both = async () => [
    await sample(6, () => task(client)),
    await sample(6, () => callB(client)),
  ]
  await task(client)
  const idle = await both()
  await runParallel(scaled(500), 16, () => many.accepted(generateBody()))
  const busy = await both()
  for (const [n, what] of ['a task', 'a synchronous call'].entries()) {
    const where = `${what} behind ${scaled(500)} tasks, ${workers.length} worker(s)`
    console.log(describeMs(where, busy[n] ?? []))
    const times = percentile(busy[n] ?? [], 1) / percentile(idle[n] ?? [], 0.5)
    figure('the slowest, of the idle p50', times, 'x', { atMost: 3 })
  }
}

/**
 * Beside two callers of each of many accounts on a channel with four places, the task of another account takes its turn,
 * and a rolling deploy lets no caller out of its line.
 */
const callers: Try = async (service, { figure }) => {
  const { url, account, client, pool, simulator } = service
  const many: Client[] = []
  while (many.length < scaled(30)) many.push(createClient(url, (await account()).secret))
  const over = new AbortController()
  const loops = [...many, ...many].map(async (caller) => {
    while (!over.signal.aborted) await callB(caller)
  })
  // All lanes are full.
  await simulator.waitForCalls(8, {}, limitMs)
  const tookMs = await timed(() => task(client))
  over.abort()
  await Promise.all(loops)
  // Each account has one turn before the task, at two places a second, and the task needs two seconds.
  const rounds = tookMs / ((many.length / 2 + 2) * 1_000)
  figure('a task beside them, of one round of all', rounds, 'x', { atMost: 3 })

  const count = scaled(200)
  const calling = runParallel(count, count, (n) =>
    answered(generate(many[n % many.length] ?? client, { prompt: 'Rolling' })),
  )
  await simulator.waitForCalls(4, { prompt: 'Rolling' }, limitMs)
  const { length } = service.workers
  for (let n = 0; n < length; n += 1) {
    await service.startWorker()
    await endFirst(service.workers, 'SIGTERM')
  }
  await calling
  const calls = await simulator.calls({ prompt: 'Rolling' })
  const at = calls.map((call) => call.at).toSorted((a, b) => a - b)
  const gaps = at.slice(1).map((each, n) => each - (at[n] ?? NaN))
  figure('calls of callers during a rolling deploy', at.length, '', {
    atLeast: count,
    atMost: count,
  })
  figure('longest time without a new call', Math.max(...gaps), 'ms', { atMost: 12_000 })
  const runs = `select from task where route = 'images.generations' and started_at is not null`
  figure('runs of all callers', (await pool.query(runs)).rowCount ?? NaN, '', { atMost: 0 })
}

/** All tasks for an upstream that grants ten calls in five seconds succeed, with few refusals. */
const rateLimit: Try = async ({ client, simulator }, { figure }) => {
  const tasks = scaled(200)
  const prompt = 'A lighthouse [sim:limit grants=10 window=5000]'
  const tookMs = await timed(() => runParallel(tasks, tasks, () => task(client, prompt)))
  const calls = await simulator.calls()
  const refused = calls.filter(({ status }) => status === 429).length
  const alone = (tasks / 10 - 1) * 5
  console.log(`${tasks} tasks succeed in ${tookMs / 1000} s; the limit alone needs ${alone} s`)
  figure('granted calls', calls.length - refused, '', { atLeast: tasks, atMost: tasks })
  figure('refused calls for each granted call', refused / tasks, '', { atMost: 0.2 })
}

/** While the upstream of family A never answers, calls of family B take as long as before. */
const hungFamily: Try = async ({ client, simulator }, { figure }) => {
  const calls = async () => {
    const ms: number[] = []
    await runParallel(scaled(120), 4, async () => ms.push(await timed(() => callB(client))))
    return ms
  }
  await calls()
  const before = await calls()
  const body = generateBody({ model: 'familya-3-pro-image', prompt: 'Hangs [sim:hang]' })
  await runParallel(scaled(200), 16, () => client.accepted(body))
  await simulator.waitForCalls(scaled(50), { prompt: 'Hangs' }, limitMs)
  const during = await calls()
  console.log(describeMs('family B, family A idle', before))
  console.log(describeMs('family B, family A hangs', during))
  const times = percentile(during, 0.95) / percentile(before, 0.95)
  figure('p95 of family B, of before', times, 'x', { atMost: 1.15 })
}

/** Callers of a model whose upstream refuses every call for 30 s are told at once. The rest goes on. */
const refusals: Try = async ({ url, headers, client, pool, simulator }, { figure }) => {
  const [calls, model] = [scaled(4_000), 'familyb-image-2-vip']
  const body = JSON.stringify({ model, prompt: 'Refused [sim:429 retry-after=30]' })
  const sent = { headers, body }
  await sample(100, () => callB(client))
  const done = new AbortController()
  const load = loadAtRate(200, calls / 200, (agent) =>
    shoot(agent, `${url}/v1/images/generations`, sent, 429),
  ).finally(() => done.abort())
  const others: number[] = []
  while (!done.signal.aborted) others.push(await timed(() => callA(client)))
  console.log(describeMs('calls of the other family, all answered', others))
  figure('told after (p99)', (await load).p99Ms, 'ms', { atMost: 200 })
  const reached = (await simulator.calls({ prompt: 'Refused' })).length
  figure(`calls of ${calls} that reached the upstream`, reached, '', { atMost: 100 })
  const runs = `select from task where status = 'failed' and started_at is not null`
  const { rowCount } = await pool.query(runs)
  figure('runs of them in Temporal', rowCount ?? NaN, '', { atMost: 0 })
}

/** Clients wait on one API, half by `Prefer: wait`, half by events. The other API cancels their tasks. */
const waiters: Try = async ({ url, apis, account, client, pool }, { figure }) => {
  const { accountId, secret } = await account()
  const waiting = createClient(apis[1]?.url ?? '', secret)
  const headers = { authorization: waiting.authorization, prefer: 'wait=60' }
  const submits = () => sample(scaled(400), () => client.accepted(generateBody()))
  await submits()
  const alone = await submits()
  const cancelledAtMs = new Map<string, number>()
  const toldMs: number[] = []
  const wait = async (id: string, n: number) => {
    const told = () => toldMs.push(performance.now() - (cancelledAtMs.get(id) ?? NaN))
    if (n % 2 === 0) {
      // 1,000 is the number of the last event.
      await readEvents(await openEvents(waiting, id), (event) => event.id === 1_000 && told())
      return
    }
    const answer = await fetch(`${waiting.url}/v1/tasks/${id}`, { headers })
    if (Object(await answer.json()).status !== 'failed') throw new Error('no end in a minute')
    told()
  }
  const ids: string[] = []
  await runParallel(scaled(2_000), 8, async () =>
    ids.push((await insertTask(pool, { accountId })).taskId),
  )
  const ends = Promise.all(ids.map(wait))
  await sleep(5_000)
  const beside = await submits()
  for (const id of ids) {
    cancelledAtMs.set(id, performance.now())
    void fetch(`${url}/v1/tasks/${id}/cancel`, { method: 'POST', headers }).then((a) => a.text())
    await sleep(10)
  }
  await ends
  console.log(describeMs('told after the cancel was sent', toldMs))
  figure('told after (p99)', percentile(toldMs, 0.99), 'ms', { atMost: 50 })
  figure('memory of the API', peakMiB(apis[1]?.pid ?? 0), 'MiB', { atMost: 400 })
  const [p99, before] = [percentile(beside, 0.99), percentile(alone, 0.99)]
  const mostMs = Math.max(1.5 * before, before + 10)
  figure('p99 of submits beside them', p99, 'ms', { atMost: mostMs })
}

/** The usage of a month of an account with many ledger entries. */
const usage: Try = async ({ pool, account, url }, { figure }) => {
  const { accountId, secret } = await account()
  const [chunks, count, at] = [scaled(40), 12_500, '2026-01-01T00:00:00Z']
  for (let n = 0; n < chunks; n += 1) {
    const model = n % 2 === 0 ? 'familya-3-pro-image' : 'familyb-image-2-vip'
    await insertEndedTasks(pool, { accountId, model, count, at, every: '20 minutes 0.7 seconds' })
    await pool.query('delete from task')
  }
  await pool.query('vacuum analyze ledger')
  const headers = { authorization: `Bearer ${secret}` }
  for (const groups of ['', '&group_by=day,model']) {
    const query = `start_time=${at}&end_time=2026-02-01T00:00:00Z${groups}`
    const ms = await sample(20, () => answered(fetch(`${url}/v1/usage?${query}`, { headers })))
    const what = `a month of ${chunks * count * 2} entries${groups} (p50)`
    figure(what, percentile(ms, 0.5), 'ms', { atMost: 100 })
  }
}

const four = { channel: { concurrencyMax: 4 }, latency: '2000-2000' }
const away = { TEMPORAL_ADDRESS: '127.0.0.1:1' }
/** Each promise, by its name, how it is tried, and what its service is started with. */
const promises: readonly (readonly [name: string, Try, SimulatedOptions])[] = [
  ['fairness', backlog, { ...four, workers: 1 }],
  ['fairness', backlog, { ...four, workers: 2 }],
  ['fairness', callers, { ...four, workers: 1 }],
  ['fairness', callers, { ...four, workers: 2 }],
  ['fairness', callers, { ...four, workers: 1, environment: away }],
  ['rateLimit', rateLimit, {}],
  ['hungFamily', hungFamily, { latency: '1000-1000' }],
  ['refusals', refusals, { latency: '20-20' }],
  ['waiters', waiters, { workers: 0, apis: 2 }],
  ['usage', usage, { workers: 0 }],
]

/** Runs one task until it has succeeded. */
async function task(client: Client, prompt = 'A lighthouse'): Promise<void> {
  const { task_id: taskId } = await client.accepted(generateBody({ prompt }))
  const { status } = await client.ended(taskId, { limitMs })
  if (status !== 'succeeded') throw new Error(`${taskId}: ${status}`)
}

/** Makes a synchronous call of family B, or of A. */
async function callB(client: Client): Promise<void> {
  await answered(generate(client, { prompt: 'A lighthouse' }))
}

async function callA(client: Client): Promise<void> {
  const body = { contents: [{ parts: [{ text: 'A lighthouse' }] }] }
  await answered(content(client, 'generateContent', body))
}

async function answered(answering: Promise<Response>): Promise<void> {
  const answer = await answering
  const text = await answer.text()
  if (answer.status !== 200) throw new Error(`${answer.status} ${text}`)
}

/** Does the work `times` times, and returns the milliseconds of each. */
async function sample(times: number, work: () => Promise<unknown>): Promise<readonly number[]> {
  const ms: number[] = []
  while (ms.length < times) ms.push(await timed(work))
  return ms
}

const names = promises.map(([name]) => name)
const named = chooseFrom(names, positionals)
await runBench(async (bench) => {
  const chosen = promises.filter(([name]) => named.length === 0 || named.includes(name))
  for (const [name, run, options] of chosen) {
    console.log(`\n${name}: ${run.name}`)
    await withSimulated(options, async (service) => {
      await run(service, bench)
      const violations = await verifyLedger(service.pool)
      bench.figure('violations of the ledger', violations.length, '', { atMost: 0 })
    })
  }
})
