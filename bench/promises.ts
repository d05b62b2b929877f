/**
 * node bench/promises.ts [--quick] [NAME…]
 *
 * Tries promises that need minutes or a quiet machine, each on a service of its own: those that are named, or all.
 * Prints `kept` or `BROKEN` with the figures. With --quick a tenth of the load shows that the command works.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { brotliCompressSync, constants } from 'node:zlib'
import { requestTextBytesMax } from '../src/domain/limits.ts'
import { verifyLedger } from '../src/store/accounts/verifyLedger.ts'
import type { Client } from '../test/support/clients/client.ts'
import { createClient } from '../test/support/clients/client.ts'
import { openEvents, readEvents } from '../test/support/clients/eventStream.ts'
import { generateBody } from '../test/support/clients/requestBodies.ts'
import { content, generate } from '../test/support/clients/syncCalls.ts'
import { insertEndedTasks } from '../test/support/database/insertEndedTasks.ts'
import { insertTask } from '../test/support/database/insertTask.ts'
import { peakMiB } from '../test/support/service/processUsage.ts'
import type { TestService } from '../test/support/service/testService.ts'
import { runParallel, timed, until } from '../test/support/timing.ts'
import { startReceiver } from '../test/support/webhooks/receiver.ts'
import { createWebhookClient } from '../test/support/webhooks/webhookClient.ts'
import { loadAtRate, shoot } from './support/load.ts'
import type { Check } from './support/runBench.ts'
import { describeMs, percentile, print, runBench } from './support/runBench.ts'
import { startSimulated } from './support/simulated.ts'

const limitMs = 600_000

/** Behind many tasks of another account on a channel with four places, nobody waits for more than their turn. */
async function fairness(): Promise<void> {
  for (const workers of [1, 2]) {
    const channel = { concurrencyMax: 4 }
    await withService({ workers, channel, latency: '2000-2000' }, async (service) => {
      const [many, single] = [await newClient(service), await newClient(service)]
      await task(single)
      const idle = { task: await sample(6, () => task(single)), call: await sample(6, () => callB(single)) }
      const tasks = scaled(500)
      await runParallel(tasks, 16, () => many.accepted(generateBody()))
      const busy = { task: await sample(6, () => task(single)), call: await sample(6, () => callB(single)) }
      for (const kind of ['task', 'call'] as const) {
        const where = `a ${kind} behind ${tasks} tasks, ${workers} worker(s)`
        print(describeMs(where, busy[kind]))
        atMost(`${where}: slowest, in idle p50s`, Math.max(...busy[kind]) / p(idle[kind], 0.5), 3)
      }
    })
  }
}

/** All tasks for an upstream that grants ten calls in five seconds succeed, with few refusals. */
async function rateLimit(): Promise<void> {
  await withService({}, async (service, client) => {
    const [tasks, model] = [scaled(200), 'familyb-image-2-vip']
    await service.simulator.limit({ model, grants: 10, windowMs: 5_000 })
    const tookMs = await timed(() => runParallel(tasks, tasks, () => task(client, 1_000)))
    const calls = await service.simulator.calls()
    const refused = calls.filter(({ status }) => status === 429).length
    print(`${tasks} tasks succeed in ${seconds(tookMs)}; the limit alone needs ${(tasks / 10 - 1) * 5} s`)
    check(`${calls.length - refused} calls granted for them`, calls.length - refused === tasks)
    atMost('refused calls for each granted call', refused / tasks, 0.2)
  })
}

/** While the upstream of family A accepts calls and never answers, calls of family B take as long as before. */
async function hungFamily(): Promise<void> {
  await withService({ latency: '1000-1000' }, async ({ simulator }, client) => {
    const calls = async () => {
      const ms: number[] = []
      await runParallel(scaled(120), 4, async () => ms.push(await timed(() => callB(client))))
      return ms
    }
    await calls()
    const before = await calls()
    const body = generateBody({ model: 'familya-3-pro-image', prompt: 'Hangs [sim:hang]' })
    await runParallel(scaled(200), 16, () => client.accepted(body))
    await simulator.waitForCalls(scaled(50), { prompt: 'Hangs' })
    const during = await calls()
    print(describeMs('family B, family A idle', before))
    print(describeMs('family B, family A hangs', during))
    atMost('p95 of family B, in p95s before', p(during, 0.95) / p(before, 0.95), 1.15)
  })
}

/** Callers of a model whose upstream refuses every call for 30 s are told so at once, and the rest goes on. */
async function refusals(): Promise<void> {
  await withService({ latency: '20-20' }, async (service, client) => {
    const [calls, model] = [scaled(4_000), 'familyb-image-2-vip']
    const headers = { authorization: client.authorization, 'content-type': 'application/json' }
    const body = JSON.stringify({ model, prompt: 'Refused [sim:429 retry-after=30]' })
    const sent = { method: 'POST', headers, body, status: 429 } as const
    await sample(100, () => callB(client))
    let done = false
    const load = loadAtRate(200, calls / 200, (agent) =>
      shoot(agent, `${service.url}/v1/images/generations`, sent),
    ).finally(() => (done = true))
    const others: number[] = []
    while (!done) others.push(await timed(() => callA(client)))
    print(describeMs('calls of the other family, all answered', others))
    atMost('told after (p99)', (await load).p99Ms, 200, 'ms')
    const reached = (await service.simulator.calls({ prompt: 'Refused' })).length
    atMost(`calls of ${calls} that reached the upstream`, reached, 100)
    const { rows } = await service.pool.query<{ runs: number }>(
      `select count(started_at)::int as runs from task where status = 'failed'`,
    )
    check(`${rows[0]?.runs} runs in Temporal`, rows[0]?.runs === 0)
  })
}

/** Many clients wait on one API, half by `Prefer: wait`, half by events. The other API cancels their tasks. */
async function waiters(): Promise<void> {
  await withService({ workers: 0, apis: 2 }, async (service, client) => {
    const { accountId, secret } = await service.account()
    const waiting = createClient(service.apis[1]?.url ?? '', secret)
    const { authorization } = waiting
    const submits = () => sample(scaled(400), () => client.accepted(generateBody()))
    await submits()
    const alone = await submits()
    const tasks: string[] = []
    await runParallel(scaled(2_000), 8, async () => {
      tasks.push((await insertTask(service.pool, { accountId })).taskId)
    })
    const cancelledAtMs = new Map<string, number>()
    const toldMs: number[] = []
    const told = (id: string) => toldMs.push(performance.now() - (cancelledAtMs.get(id) ?? NaN))
    const ends = tasks.map(async (id, n) => {
      if (n % 2 === 0) {
        // 1,000 is the number of the last event.
        return readEvents(await openEvents(waiting, id), (event) => event.id === 1_000 && told(id))
      }
      const headers = { authorization, prefer: 'wait=300' }
      await (await fetch(`${waiting.url}/v1/tasks/${id}`, { headers })).text()
      return told(id)
    })
    await sleep(5_000)
    const beside = await submits()
    await runParallel(tasks.length, 1, async (n) => {
      const id = tasks[n] ?? ''
      cancelledAtMs.set(id, performance.now())
      const cancel = { method: 'POST', headers: { authorization } }
      void fetch(`${service.url}/v1/tasks/${id}/cancel`, cancel).then((answer) => answer.text())
      await sleep(10)
    })
    await Promise.all(ends)
    print(describeMs('told after the cancel was sent', toldMs))
    atMost('told after (p99)', p(toldMs, 0.99), 50, 'ms')
    atMost('memory of the API', peakMiB(service.apis[1]?.pid ?? 0), 400, 'MiB')
    print(`${describeMs('submits alone', alone)}\n${describeMs('beside the waiters', beside)}`)
    atMost('p99 of submits', p(beside, 0.99), Math.max(1.5 * p(alone, 0.99), p(alone, 0.99) + 10), 'ms')
  })
}

/** The usage of a month of an account with many ledger entries. */
async function usage(): Promise<void> {
  await withService({ workers: 0 }, async ({ pool, account, url }) => {
    const [{ accountId, secret }, chunks] = [await account(), scaled(40)]
    const every = '20 minutes 0.7 seconds'
    for (let n = 0; n < chunks; n += 1) {
      const model = n % 2 === 0 ? 'familya-3-pro-image' : 'familyb-image-2-vip'
      const keyId = `key_000000000000000${n % 4}`
      const at = '2026-01-01T00:00:00Z'
      await insertEndedTasks(pool, { accountId, model, keyId, count: 12_500, at, every })
      await pool.query('delete from task')
    }
    await pool.query('vacuum analyze ledger')
    const headers = { authorization: `Bearer ${secret}` }
    for (const [what, endTime] of [['a month', '2026-02-01'], ['half a year', '2026-07-01']]) {
      for (const groupBy of ['', '&group_by=day,model']) {
        const query = `start_time=2026-01-01T00:00:00Z&end_time=${endTime}T00:00:00Z${groupBy}`
        const ms = await sample(20, async () => {
          const answer = await fetch(`${url}/v1/usage?${query}`, { headers })
          if (answer.status !== 200) throw new Error(await answer.text())
          await answer.text()
        })
        const where = `${what} of ${chunks * 25_000} entries${groupBy}`
        if (what === 'a month') atMost(`${where} (p50)`, p(ms, 0.5), 100, 'ms')
        else print(describeMs(where, ms))
      }
    }
  })
}

/** The largest prompts take no more memory than there is room for, and small tasks pass them. */
async function largePrompts(): Promise<void> {
  const options = { workers: 0, channel: { concurrencyMax: 60 }, latency: '5000-5000' }
  await withService(options, async (service, client) => {
    // Two bytes in memory for each character. The limit counts the other texts of the request too.
    const prompt = `😀${'a'.repeat(requestTextBytesMax - 1024)}`
    const params = { [constants.BROTLI_PARAM_QUALITY]: 4 }
    const body = new Uint8Array(brotliCompressSync(JSON.stringify(generateBody({ prompt })), { params }))
    const tasks = scaled(50)
    const { authorization } = client
    const headers = { authorization, 'content-type': 'application/json', 'content-encoding': 'br' }
    const post = { method: 'POST', headers, body }
    const ids: string[] = []
    await runParallel(tasks, 2, async () => {
      const answer = await until('a 202', async () => {
        const given = await fetch(`${service.url}/v1/images/tasks`, post)
        const text = await given.text()
        if (given.status !== 202 && given.status !== 429) throw new Error(text)
        return given.status === 202 ? text : undefined
      }, limitMs)
      ids.push(JSON.parse(answer).task_id)
    })
    const worker = await service.startWorker()
    const atFirst = peakMiB(worker.pid)
    const single = await newClient(service)
    const smallMs = await timed(() => task(single))
    await Promise.all(ids.map((id) => client.ended(id, { everyMs: 500, limitMs })))
    atMost(`${tasks} of the largest prompts: the worker grows by`, peakMiB(worker.pid) - atFirst, 400, 'MiB')
    atMost('a small task beside them, in times of its call', smallMs / 5_000, 2)
  })
}

/** Many ends for a receiver that never answers do not delay the first tries of another account. */
async function deadReceiver(): Promise<void> {
  const receiver = await startReceiver()
  receiver.behave = (request, response) => {
    if (request.url === '/other') response.writeHead(200).end()
  }
  await withService({}, async (service, client) => {
    const dead = createWebhookClient(service, await service.account())
    const { webhook_id: id } = await dead.register(`${receiver.url}/dead`)
    const { task_id: taskId } = await client.accepted(generateBody())
    await client.ended(taskId)
    // All these deliveries name the same task.
    await service.pool.query(
      `insert into webhook_delivery (delivery_id, webhook_id, task_id, event)
       select 'whd_' || replace(gen_random_uuid()::text, '-', ''), $1, $2, 'task.succeeded'
       from generate_series(1, $3)`,
      [id, taskId, scaled(10_000)],
    )
    const other = createWebhookClient(service, await service.account())
    await other.register(`${receiver.url}/other`)
    const waits: number[] = []
    for (let n = 1; n <= scaled(100); n += 1) {
      await other.accepted(generateBody())
      const arrived = (await receiver.waitFor(n, '/other'))[n - 1]
      const { timestamp }: { timestamp: string } = JSON.parse(arrived?.body ?? '')
      waits.push((arrived?.atMs ?? NaN) - Date.parse(timestamp))
    }
    print(describeMs('first tries of another account', waits))
    atMost('first tries of another account (p99)', p(waits, 0.99), 1_000, 'ms')
  }).finally(receiver.close)
}

const promises = {
  fairness,
  rateLimit,
  hungFamily,
  refusals,
  waiters,
  usage,
  largePrompts,
  deadReceiver,
} as const

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: 'boolean', default: false } },
})
