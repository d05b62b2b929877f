import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Client as PostgresClient } from 'pg'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { Client } from '../support/clients/client.ts'
import { createClient } from '../support/clients/client.ts'
import { generateBody } from '../support/clients/requestBodies.ts'
import type { ManyAnswers } from '../support/clients/syncCalls.ts'
import { generateMany } from '../support/clients/syncCalls.ts'
import { assertLedgerVerifies, moneyOf } from '../support/database/money.ts'
import { outcomesOf } from '../support/database/testAttempts.ts'
import { endFirst } from '../support/service/endProcess.ts'
import { operatorActions } from '../support/service/operatorRuns.ts'
import type { TestService } from '../support/service/testService.ts'
import { startTestService } from '../support/service/testService.ts'
import { stackStartMsMax } from '../support/stack/embeddedStack.ts'
import { openTestWorld } from '../support/temporal/temporalWorld.ts'
import { until } from '../support/timing.ts'

// A worker makes calls of both kinds. A second worker, which has made none of them, is there when the first is killed.
// It may say that a call is lost once it was steady for fifteen seconds. On a machine that is too busy for its beats, it
// becomes steady again later, so limits of time count from then.

const [submits, synchronous] = [8, 30]
const lostAtFirst = 'delay ms=60000 times=1'
const lostOnce = ['unknown worker_lost', 'succeeded image']

let service: TestService
let client: Client
const lost: string[] = []
let stored: string
let terminated: string
let answers: ManyAnswers
/** Times on the clock by which the simulator notes its calls. */
let killedAt: number
let answeredAt = Infinity
beforeAll(async () => {
  service = await startTestService()
  client = createClient(service.url, (await service.account()).secret)
  stored = await submit('Stored [sim:hold]')
  await service.simulator.waitForCalls(1, { prompt: 'Stored' })
  terminated = await submit(`Terminated [sim:${lostAtFirst}]`)
  for (let n = 0; n < submits; n += 1) lost.push(await submit(`Lost ${n} [sim:${lostAtFirst}]`))
  answers = generateMany(client, synchronous, `Waiting [sim:${lostAtFirst}]`).finally(() => {
    answeredAt = Date.now()
  })
  await service.simulator.waitForCalls(1, { prompt: 'Terminated' })
  await service.simulator.waitForCalls(submits, { prompt: 'Lost' })
  await service.simulator.waitForCalls(synchronous, { prompt: 'Waiting' })
  await service.startWorker()
  const unlock = await storeWithoutSettling()
  await endFirst(service.workers, 'SIGKILL')
  killedAt = Date.now()
  await unlock()
  await operatorActions.terminate(service.temporal, terminated)
  return async () => {
    await assertLedgerVerifies(service.pool)
    await service.stop()
  }
}, stackStartMsMax)

const submit = async (prompt: string): Promise<string> =>
  (await client.accepted(generateBody({ prompt }))).task_id

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

/** Since when the worker that lives has been steady, by its own beats. */
async function steadySince(): Promise<number> {
  const { rows } = await service.pool.query<{ at: Date }>(
    'select steady_since as at from worker_process order by seen_at desc limit 1',
  )
  return rows[0]?.at.getTime() ?? NaN
}

describe('kill -9 of a worker', () => {
  it('leads to settlement of an answer that was stored and not settled, without another call', async () => {
    expect((await client.ended(stored)).status).toBe('succeeded')
    expect(await service.simulator.calls({ prompt: 'Stored' })).toHaveLength(1)
    expect(await moneyOf(service.pool, stored)).toEqual(['hold', 'settle'])
  })

  it('leads to the next call of each task within 25 s, with a run and without one', async () => {
    for (const [prompt, count] of [
      ['Lost', submits],
      ['Waiting', synchronous],
    ] as const) {
      const calls = await service.simulator.waitForCalls(2 * count, { prompt }, 40_000)
      const since = Math.max(killedAt, await steadySince())
      expect(Math.max(...calls.map(({ at }) => at)) - since).toBeLessThan(25_000)
    }
  })

  it('loses no task: each succeeds with one more call and is charged once [record-5]', async () => {
    const records = await Promise.all(lost.map((taskId) => client.ended(taskId)))
    console.log(`all ended ${Date.now() - killedAt} ms after the kill`)
    expect(records.map(({ status }) => status)).toEqual(Array(submits).fill('succeeded'))
    for (const [n, taskId] of lost.entries()) {
      const calls = await service.simulator.calls({ prompt: `Lost ${n} ` })
      expect(calls.map(({ clientAborted }) => clientAborted)).toEqual([true, false])
      expect(new Set(calls.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1)
      expect(await moneyOf(service.pool, taskId)).toEqual(['hold', 'settle'])
      expect(await outcomesOf(service.pool, taskId)).toEqual(lostOnce)
    }
  })

  it('fails a task whose run an operator terminates then, and it costs nothing [money-8]', async () => {
    expect((await client.ended(terminated)).error?.code).toBe('upstream_error')
    expect(await outcomesOf(service.pool, terminated)).toEqual(['unknown worker_lost'])
    expect(await moneyOf(service.pool, terminated)).toEqual(['hold', 'release'])
    expect(await service.simulator.calls({ prompt: 'Terminated' })).toHaveLength(1)
  })

  it('lets each synchronous call be answered within 30 s, with one more call each [sync-10]', async () => {
    const ended = await answers
    expect(answeredAt - Math.max(killedAt, await steadySince())).toBeLessThan(30_000)
    expect(ended.map((answer) => answer?.status)).toEqual(Array(synchronous).fill(200))
    expect(await service.simulator.calls({ prompt: 'Waiting' })).toHaveLength(2 * synchronous)
    for (const answer of ended) {
      expect(await outcomesOf(service.pool, answer?.taskId ?? '')).toEqual(lostOnce)
    }
  })
})

describe("kill -9 of the only worker while all of Temporal's data is lost", () => {
  it('leads to a call by the next worker within 25 s', async () => {
    const empty = await openTestWorld()
    onTestFinished(() => empty.close())
    const prompt = 'Forgotten [sim:delay ms=60000 times=1]'
    const taskId = await submit(prompt)
    await service.simulator.waitForCalls(1, { prompt })
    await endFirst(service.workers, 'SIGKILL')
    await service.startWorker({ TEMPORAL_NAMESPACE: empty.settings.namespace })
    const calls = await service.simulator.waitForCalls(2, { prompt }, 45_000)
    // The worker was started after the kill, so it was steady later than that.
    expect((calls[1]?.at ?? Infinity) - (await steadySince())).toBeLessThan(25_000)
    expect((await client.ended(taskId)).status).toBe('succeeded')
    expect(await outcomesOf(service.pool, taskId)).toEqual(lostOnce)
    expect(await endFirst(service.workers, 'SIGTERM')).toBe(0)
    const { rowCount } = await service.pool.query(
      `select from worker_process where seen_at > now() - interval '10 seconds'`,
    )
    expect(rowCount).toBe(0)
  }, 90_000)
})
