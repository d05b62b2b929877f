import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client as PostgresClient } from 'pg'
import { beforeAll, describe, expect, it } from 'vitest'
import { silentMs } from '../../src/domain/limits.ts'
import type { Client } from '../support/clients/client.ts'
import { createClient } from '../support/clients/client.ts'
import { generateBody } from '../support/clients/requestBodies.ts'
import type { ManyAnswers } from '../support/clients/syncCalls.ts'
import { generateMany } from '../support/clients/syncCalls.ts'
import type { CuttableWay } from '../support/cuttableWay.ts'
import { openCuttableWay } from '../support/cuttableWay.ts'
import { assertLedgerVerifies, moneyOf } from '../support/database/money.ts'
import { outcomesOf } from '../support/database/testAttempts.ts'
import { endFirst } from '../support/service/endProcess.ts'
import { operatorActions } from '../support/service/operatorRuns.ts'
import type { TestService } from '../support/service/testService.ts'
import { startTestService } from '../support/service/testService.ts'
import { stackStartMsMax } from '../support/stack/embeddedStack.ts'
import { until } from '../support/timing.ts'

// One service, whose processes are cut off, killed and stopped one after the other. The tests depend on their order.

const inFlight = 30

/** Longer than the silence after which a call counts as lost. */
const awayMs = silentMs + 5_000
/** Longer than a worker needs after an outage until it may say again that a call is lost. */
const afterMs = silentMs + 5_000

let service: TestService
/** The way of all processes to PostgreSQL. */
let way: CuttableWay
/** A client of the API that lives longest. */
let client: Client
beforeAll(async () => {
  service = await startTestService({
    apis: 2,
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
  const { secret } = await service.account()
  client = createClient(service.apis[1]?.url ?? '', secret)
  return async () => {
    way.cut(false)
    await assertLedgerVerifies(service.pool)
    await service.stop()
    way.close()
  }
}, stackStartMsMax)

const calls = (prompt: string) => service.simulator.calls({ prompt })
const begun = (count: number, prompt: string) => service.simulator.waitForCalls(count, { prompt })
const submit = async (prompt: string): Promise<string> =>
  (await client.accepted(generateBody({ prompt }))).task_id
const succeeded = (count: number) => Array<number>(count).fill(200)
const chargedOnce = ['hold', 'settle']

describe.concurrent('while calls of both kinds are under way', () => {
  const back = Promise.withResolvers<void>()

  it(
    'an outage of PostgreSQL makes no process lose them: each is made once and charged once',
    async () => {
      const prompt = 'Outage [sim:hold]'
      const ids = await Promise.all(Array.from({ length: 5 }, () => submit(prompt)))
      const answers = generateMany(client, 5, prompt)
      await begun(10, prompt)
      way.cut(true)
      await sleep(awayMs)
      way.cut(false)
      back.resolve()
      await sleep(afterMs)
      await service.simulator.release({ prompt })
      expect((await answers).map((answer) => answer?.status)).toEqual(succeeded(5))
      const ends = await Promise.all(ids.map((taskId) => client.ended(taskId)))
      expect(ends.map(({ status }) => status)).toEqual(Array(5).fill('succeeded'))
      expect(await calls(prompt)).toHaveLength(10)
      for (const taskId of ids) {
        expect(await outcomesOf(service.pool, taskId)).toEqual(['succeeded image'])
        expect(await moneyOf(service.pool, taskId)).toEqual(chargedOnce)
      }
    },
    awayMs + afterMs + 60_000,
  )

  it(
    'kill -9 of an API repeats no synchronous call, streamed or not: each repeat with the same key gets its image [sync-10, stream-8]',
    async () => {
      await back.promise
      const prompt = 'Api killed [sim:hold]'
      const first = { ...client, url: service.apis[0]?.url ?? '' }
      const lost = generateMany(first, inFlight, prompt)
      await begun(inFlight, prompt)
      await endFirst(service.apis, 'SIGKILL')
      expect(await lost).toEqual(Array(inFlight).fill(undefined))
      await service.simulator.release({ prompt })
      const repeated = await generateMany(client, inFlight, prompt)
      expect(repeated.map((answer) => answer?.status)).toEqual(succeeded(inFlight))
      expect(await calls(prompt)).toHaveLength(inFlight)
      for (const answer of repeated) {
        expect(await moneyOf(service.pool, answer?.taskId ?? '')).toEqual(chargedOnce)
      }
    },
    awayMs + 90_000,
  )
})

// One worker makes calls of both kinds. Another, which has made none of them, is there when the first is killed. It may
// say that a call is lost once it was steady for fifteen seconds. On a machine that is too busy for its beats, it becomes
// steady again later, so limits of time count from then. They allow besides twice what the same calls took to reach the
// upstream the first time.
describe('kill -9 of a worker', () => {
  const submits = 8
  const lostAtFirst = 'delay ms=60000 times=1'
  const lostOnce = ['unknown worker_lost', 'succeeded image']
  const lost: string[] = []
  let stored: string
  let terminated: string
  let answers: ManyAnswers
  /** Times on the clock by which the simulator notes its calls. */
  let killedAt: number
  let firstMs: number
  let answeredAt = Infinity

  beforeAll(async () => {
    await endFirst(service.workers, 'SIGTERM')
    stored = await submit('Stored [sim:hold]')
    terminated = await submit(`Terminated [sim:${lostAtFirst}]`)
    const sentAt = performance.now()
    for (let n = 0; n < submits; n += 1) lost.push(await submit(`Lost ${n} [sim:${lostAtFirst}]`))
    answers = generateMany(client, inFlight, `Waiting [sim:${lostAtFirst}]`).finally(() => {
      answeredAt = Date.now()
    })
    await begun(1, 'Stored')
    await begun(1, 'Terminated')
    await begun(submits, 'Lost')
    await begun(inFlight, 'Waiting')
    firstMs = performance.now() - sentAt
    await service.startWorker()
    const unlock = await storeWithoutSettling()
    await endFirst(service.workers, 'SIGKILL')
    killedAt = Date.now()
    await unlock()
    await operatorActions.terminate(service.temporal, terminated)
  }, stackStartMsMax)

  /**
   * Lets the answer of the held call be stored, while a row lock of this test keeps the worker from settling it. Returns
   * the function that frees the row.
   */
  async function storeWithoutSettling(): Promise<() => Promise<void>> {
    const connection = new PostgresClient(service.databaseUrl)
    await connection.connect()
    await connection.query('begin')
    const { rows } = await connection.query<{ id: string }>(
      `select attempt.answer_id as id from task join attempt using (task_id)
       where task_id = $1 for update of task`,
      [stored],
    )
    await service.simulator.release({ prompt: 'Stored' })
    const mark = join(service.blobDir, rows[0]?.id ?? '', 'meta.json')
    await until('the stored answer', () => (existsSync(mark) ? true : undefined))
    return () => connection.end()
  }

  /** Since when the worker that lives has been steady after the kill, by its own beats. */
  async function steadySince(): Promise<number> {
    const { rows } = await service.pool.query<{ at: Date }>(
      'select steady_since as at from worker_process order by seen_at desc limit 1',
    )
    return Math.max(killedAt, rows[0]?.at.getTime() ?? NaN)
  }

  it('leads to settlement of an answer that was stored and not settled, without another call', async () => {
    expect((await client.ended(stored)).status).toBe('succeeded')
    expect(await calls('Stored')).toHaveLength(1)
    expect(await moneyOf(service.pool, stored)).toEqual(chargedOnce)
  })

  it('leads to the next call of each task within 25 s, with a run and without one', async () => {
    for (const [prompt, count] of [
      ['Lost', submits],
      ['Waiting', inFlight],
    ] as const) {
      const made = await service.simulator.waitForCalls(2 * count, { prompt }, 60_000)
      const tookMs = Math.max(...made.map(({ at }) => at)) - (await steadySince())
      expect(tookMs).toBeLessThan(25_000 + 2 * firstMs)
    }
  })

  it('loses no task: each succeeds with one more call and is charged once [record-5]', async () => {
    const records = await Promise.all(lost.map((taskId) => client.ended(taskId)))
    expect(records.map(({ status }) => status)).toEqual(Array(submits).fill('succeeded'))
    for (const [n, taskId] of lost.entries()) {
      const made = await calls(`Lost ${n} `)
      expect(made.map(({ clientAborted }) => clientAborted)).toEqual([true, false])
      expect(new Set(made.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1)
      expect(await moneyOf(service.pool, taskId)).toEqual(chargedOnce)
      expect(await outcomesOf(service.pool, taskId)).toEqual(lostOnce)
    }
  })

  it('fails a task whose run an operator terminates then, and it costs nothing [money-8]', async () => {
    expect((await client.ended(terminated)).error?.code).toBe('upstream_error')
    expect(await outcomesOf(service.pool, terminated)).toEqual(['unknown worker_lost'])
    expect(await moneyOf(service.pool, terminated)).toEqual(['hold', 'release'])
    expect(await calls('Terminated')).toHaveLength(1)
  })

  it('lets each synchronous call be answered within 30 s, with one more call each [sync-10]', async () => {
    const ended = await answers
    expect(answeredAt - (await steadySince())).toBeLessThan(30_000 + 2 * firstMs)
    expect(ended.map((answer) => answer?.status)).toEqual(succeeded(inFlight))
    expect(await calls('Waiting')).toHaveLength(2 * inFlight)
    for (const answer of ended) {
      expect(await outcomesOf(service.pool, answer?.taskId ?? '')).toEqual(lostOnce)
    }
  })
})

describe('SIGTERM during calls', () => {
  it('lets an API answer its synchronous calls and a worker finish its calls of both kinds, each once, and exit with 0 [sync-10]', async () => {
    const prompt = 'Stopped'
    const taskId = await submit(`${prompt} late [sim:delay ms=4000]`)
    const answers = Promise.all([
      generateMany(client, inFlight - 1, `${prompt} [sim:delay ms=1500]`),
      // Ends after the call of the run, whose end the worker awaits too.
      generateMany(client, 1, `${prompt} last [sim:delay ms=6500]`),
    ])
    await begun(inFlight + 1, prompt)
    const ends = [endFirst(service.apis, 'SIGTERM'), endFirst(service.workers, 'SIGTERM')]
    expect(await Promise.all(ends)).toEqual([0, 0])
    const { rowCount: beating } = await service.pool.query(
      `select from worker_process where seen_at > now() - interval '10 seconds'`,
    )
    expect(beating).toBe(0)
    // No worker runs now, so the stopped one has settled the task.
    expect(await moneyOf(service.pool, taskId)).toEqual(chargedOnce)
    expect((await answers).flat().map((answer) => answer?.status)).toEqual(succeeded(inFlight))
    const made = await calls(prompt)
    expect(made).toHaveLength(inFlight + 1)
    expect(made.filter(({ clientAborted }) => clientAborted)).toEqual([])
  })
})
