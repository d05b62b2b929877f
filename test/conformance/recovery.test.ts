import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { verifyLedger } from '../../src/store/accounts/verifyLedger.ts'
import type { Client } from '../support/clients/client.ts'
import { createClient } from '../support/clients/client.ts'
import { generateBody } from '../support/clients/requestBodies.ts'
import { moneyOf } from '../support/database/money.ts'
import { outcomesOf } from '../support/database/testAttempts.ts'
import type { DarkroomProcess } from '../support/service/darkroomProcess.ts'
import type { TestAccount } from '../support/service/testAccount.ts'
import type { TestService } from '../support/service/testService.ts'
import { startTestService } from '../support/service/testService.ts'
import { stackStartMsMax } from '../support/stack/embeddedStack.ts'
import { openTestWorld } from '../support/temporal/temporalWorld.ts'
import { until } from '../support/timing.ts'

let service: TestService
let account: TestAccount
let client: Client
beforeAll(async () => {
  service = await startTestService({ apis: 2 })
  account = await service.account()
  client = createClient(service.apis[1]?.url ?? '', account.secret)
}, stackStartMsMax)
afterAll(() => service.stop())

const model = 'familyb-image-2-vip'
const submit = async (prompt: string): Promise<string> =>
  (await client.accepted(generateBody({ model, prompt }))).task_id

async function stopped(worker: DarkroomProcess, signal: 'SIGTERM' | 'SIGKILL') {
  worker.signal(signal)
  const end = await worker.ended
  service.workers.splice(service.workers.indexOf(worker), 1)
  return end
}

describe('kill -9 of the only worker', () => {
  const inFlight = 8
  const lost: string[] = []
  let stored: string
  let killedAt: number
  beforeAll(async () => {
    stored = await storedAndNotSettled()
    for (let i = 0; i < inFlight; i += 1) {
      lost.push(await submit(`Lost ${i} [sim:delay ms=60000 times=1]`))
    }
    await service.simulator.waitForCalls(inFlight, { prompt: 'Lost' })
    const [worker] = service.workers
    if (worker !== undefined) await stopped(worker, 'SIGKILL')
    killedAt = performance.now()
    await unlock()
    await service.startWorker()
  }, 60_000)

  /** Makes a task with a stored answer whose worker waits for a row lock of this test before it settles. */
  async function storedAndNotSettled(): Promise<string> {
    const taskId = await submit('Stored [sim:hold]')
    await service.simulator.waitForCalls(1, { prompt: 'Stored' })
    const connection = await service.pool.connect()
    await connection.query('begin')
    const { rows } = await connection.query<{ id: string }>(
      `select attempt.answer_id as id from task join attempt using (task_id)
       where task_id = $1 for update of task`,
      [taskId],
    )
    unlock = async () => {
      await connection.query('rollback')
      connection.release()
    }
    await service.simulator.release({ prompt: 'Stored' })
    const mark = join(service.blobDir, rows[0]?.id ?? '', 'meta.json')
    await until('the stored answer', () => (existsSync(mark) ? true : undefined))
    return taskId
  }
  let unlock = async () => {}

  it('does not keep the next worker from finishing its call on SIGTERM: the call is settled, exit code 0', async () => {
    const [worker] = service.workers
    if (worker === undefined) throw new Error('no worker')
    const taskId = await submit('Long [sim:delay ms=4000]')
    await service.simulator.waitForCalls(1, { prompt: 'Long' })
    expect(await stopped(worker, 'SIGTERM')).toBe(0)
    expect(await (await client.lookup(taskId)).json()).toMatchObject({ status: 'succeeded' })
    expect(await moneyOf(service.pool, taskId)).toEqual(['hold', 'settle'])
    expect(await service.simulator.calls({ prompt: 'Long' })).toMatchObject([
      { status: 200, clientAborted: false },
    ])
    await service.startWorker()
  })

  it('loses no task: each succeeds with one more call and is charged once [record-5]', async () => {
    const records = await Promise.all(lost.map((taskId) => client.ended(taskId)))
    console.log(`all ended ${Math.round(performance.now() - killedAt)} ms after the kill`)
    expect(records.map(({ status }) => status)).toEqual(Array(inFlight).fill('succeeded'))
    for (const [i, taskId] of lost.entries()) {
      const calls = await service.simulator.calls({ prompt: `Lost ${i} ` })
      expect(calls.map(({ clientAborted }) => clientAborted)).toEqual([true, false])
      expect(new Set(calls.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1)
      expect(await moneyOf(service.pool, taskId)).toEqual(['hold', 'settle'])
      expect(await outcomesOf(service.pool, taskId)).toEqual([
        'unknown worker_lost',
        'succeeded image',
      ])
    }
  }, 90_000)

  it('leads to settlement of an answer that was stored and not settled, without another call', async () => {
    expect((await client.ended(stored)).status).toBe('succeeded')
    expect(await service.simulator.calls({ prompt: 'Stored' })).toHaveLength(1)
    expect(await moneyOf(service.pool, stored)).toEqual(['hold', 'settle'])
  })
})

describe("kill -9 of the only worker while all of Temporal's data is lost", () => {
  it('has its calls taken up by the next worker within 20 s', async () => {
    const taskId = await submit('Forgotten [sim:delay ms=60000 times=1]')
    await service.simulator.waitForCalls(1, { prompt: 'Forgotten' })
    const empty = await openTestWorld()
    const { namespace } = empty.settings
    const [worker] = service.workers
    if (worker === undefined) throw new Error('no worker')
    await stopped(worker, 'SIGKILL')
    const killedAtMs = performance.now()
    const next = await service.startWorker({ TEMPORAL_NAMESPACE: namespace })
    await until(
      'the second call',
      async () =>
        (await service.simulator.calls({ prompt: 'Forgotten' })).length > 1 ? true : undefined,
      45_000,
    )
    expect(performance.now() - killedAtMs).toBeLessThan(22_000)
    expect((await client.ended(taskId)).status).toBe('succeeded')
    expect(await outcomesOf(service.pool, taskId)).toEqual([
      'unknown worker_lost',
      'succeeded image',
    ])
    expect(await stopped(next, 'SIGTERM')).toBe(0)
    await empty.close()
    const { rowCount } = await service.pool.query(
      'select from worker_process where lost_at is null',
    )
    expect(rowCount).toBe(0)
    await service.startWorker()
  }, 90_000)
})

describe('kill -9 of an API', () => {
  it('leaves one task per idempotency key, whichever answers were lost', async () => {
    const [doomed] = service.apis
    const clients = service.apis.map(({ url }) => createClient(url, account.secret))
    const body = generateBody({ model, prompt: 'Whatever happens' })
    const headers = { 'idempotency-key': 'whatever' }
    const tries = Array.from({ length: 40 }, async (_, turn) => {
      await sleep(turn * 2)
      return clients[turn % 2]?.accepted(body, headers).catch(() => undefined)
    })
    await sleep(20)
    doomed?.signal('SIGKILL')
    const answers = await Promise.all(tries)
    const retried = await client.accepted(body, headers)
    const ids = answers.flatMap((answer) => (answer === undefined ? [] : [answer.task_id]))
    expect(answers).toContain(undefined)
    expect(new Set(ids)).toEqual(new Set([retried.task_id]))
    expect((await client.ended(retried.task_id)).status).toBe('succeeded')
    expect(await service.simulator.calls({ prompt: 'Whatever happens' })).toHaveLength(1)
    expect(await moneyOf(service.pool, retried.task_id)).toEqual(['hold', 'settle'])
  })

  it('leaves a ledger that verifies', async () => {
    expect(await verifyLedger(service.pool)).toEqual([])
  })
})
