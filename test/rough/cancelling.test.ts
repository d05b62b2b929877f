import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { runCancels } from '../support/chaos/runCancels.ts'
import type { Client } from '../support/clients/client.ts'
import { createClient } from '../support/clients/client.ts'
import { generateBody } from '../support/clients/requestBodies.ts'
import { errorResponse } from '../support/clients/responses.ts'
import { generate, taskIdOf } from '../support/clients/syncCalls.ts'
import { assertLedgerVerifies, balanceOf, moneyOf } from '../support/database/money.ts'
import { runStatus } from '../support/service/operatorRuns.ts'
import { startTestService } from '../support/service/testService.ts'
import { until } from '../support/timing.ts'
import { eventOf, startReceiver } from '../support/webhooks/receiver.ts'
import { createWebhookClient } from '../support/webhooks/webhookClient.ts'

const credits = 100_000
const service = await startTestService({
  apis: 2,
  channel: { concurrencyMax: 6 },
  simulator: { latency: { minMs: 20, maxMs: 300 } },
})
const account = await service.account(credits)
const client = createClient(service.url, account.secret)
afterAll(() => service.stop())
afterEach(() => assertLedgerVerifies(service.pool))

const cancel = (taskId: string, { url, authorization }: Client = client) =>
  fetch(`${url}/v1/tasks/${taskId}/cancel`, { method: 'POST', headers: { authorization } })

async function submit(prompt: string): Promise<string> {
  return (await client.accepted(generateBody({ prompt }))).task_id
}

const errorOf = async (response: Response) => errorResponse.parse(await response.json()).error

/** Resolves when a call of the task has ended with this class. */
const callEnded = (taskId: string, outcome: 'refused' | 'unknown') =>
  until(`a call that is ${outcome}`, async () => {
    const { rowCount } = await service.pool.query(
      'select from attempt where task_id = $1 and class = $2',
      [taskId, outcome],
    )
    return rowCount === 1 ? true : undefined
  })

/** A task that waits for 10 minutes after a refusal. No other test may use the model. */
async function waitingTask(model: string): Promise<string> {
  const prompt = `wait ${crypto.randomUUID()} [sim:429 retry-after=600 times=1]`
  const { task_id } = await client.accepted(generateBody({ model, prompt }))
  await callEnded(task_id, 'refused')
  return task_id
}

async function heldTask(prompt: string): Promise<string> {
  const taskId = await submit(`${prompt} [sim:hold]`)
  await service.simulator.waitForCalls(1, { prompt })
  return taskId
}

/** The key of a synchronous task that waits for a call that is held, and the calls that wait for it. */
async function waitingCalls(key: string): Promise<{
  readonly taskId: string
  readonly answers: readonly Promise<Response>[]
  readonly send: () => Promise<Response>
}> {
  const other = createClient(service.url, (await service.account()).secret)
  for (let n = 0; n < 6; n += 1) await other.accepted(generateBody({ prompt: `${key} [sim:hold]` }))
  await service.simulator.waitForCalls(6, { prompt: key })
  const clients = service.apis.map(({ url }) => createClient(url, account.secret))
  const send = (to: Client = client) =>
    generate(to, { prompt: `sync ${key}` }, { 'idempotency-key': key })
  const answers = clients.map((each) => send(each))
  const taskId = await until('the task', async () => {
    const { rows } = await service.pool.query<{ id: string }>(
      `select task_id as id from task where account_id = $1 and route = 'images.generations'
         and completed_at is null`,
      [account.accountId],
    )
    return rows[0]?.id
  })
  return { taskId, answers, send }
}

describe('POST /v1/tasks/{task_id}/cancel', () => {
  it('ends a waiting task without a charge, again the same, and ends its run and tells the webhook [cancel-1, hook-10]', async ({
    onTestFinished,
  }) => {
    const receiver = await startReceiver()
    onTestFinished(() => receiver.close())
    await createWebhookClient({ url: service.url }, account).register(receiver.url)
    const taskId = await waitingTask('familya-2.5-flash-image')
    const before = await balanceOf(service.pool, account.accountId)
    const response = await cancel(taskId)
    expect(response.status).toBe(200)
    expect(response.headers.get('x-credits-charged')).toBe('0')
    const record = await response.json()
    expect(record).toMatchObject({ status: 'failed', error: { code: 'cancelled' } })
    expect(await moneyOf(service.pool, taskId)).toEqual(['hold', 'release'])
    expect(before?.held).toBeGreaterThan(0)
    expect(await balanceOf(service.pool, account.accountId)).toMatchObject({ held: 0 })
    const again = await cancel(taskId, createClient(service.apis[1]?.url ?? '', account.secret))
    expect([again.status, await again.json()]).toEqual([200, record])
    expect(again.headers.get('x-credits-charged')).toBe('0')
    expect(await (await client.lookup(taskId)).json()).toEqual(record)
    await until('a Cancelled run', async () =>
      (await runStatus(service.temporal, taskId)) === 'CANCELLED' ? true : undefined,
    )
    const [received] = await receiver.waitFor(1)
    expect(received && eventOf(received)).toMatchObject({ type: 'task.failed', data: record })
  })

  it('is refused while a call is under way, and after the end, and says which [cancel-2]', async () => {
    const taskId = await heldTask('called')
    const refused = await cancel(taskId)
    expect(refused.status).toBe(409)
    expect(await errorOf(refused)).toMatchObject({
      code: 'task_not_cancellable',
      message: expect.stringContaining('is under way'),
    })
    await service.simulator.release()
    expect(await client.ended(taskId)).toMatchObject({ status: 'succeeded' })
    expect((await errorOf(await cancel(taskId))).message).toBe('The task has already succeeded.')
    expect(await moneyOf(service.pool, taskId)).toEqual(['hold', 'settle'])
    const failed = await submit('blocked [sim:moderation]')
    await client.ended(failed)
    const over = await cancel(failed)
    expect(over.status).toBe(409)
    expect((await errorOf(over)).message).toBe('The task has already failed.')
  })

  it('is refused after a call with an unknown outcome, which may be charged [cancel-3]', async () => {
    const taskId = await submit('unknown [sim:500 times=1][sim:hold]')
    await callEnded(taskId, 'unknown')
    const refused = await cancel(taskId)
    expect(refused.status).toBe(409)
    expect((await errorOf(refused)).message).toMatch(/may have done work|is under way/)
    await service.simulator.waitForCalls(2, { prompt: 'unknown' })
    await service.simulator.release()
    expect(await client.ended(taskId)).toMatchObject({ status: 'succeeded' })
    expect(await moneyOf(service.pool, taskId)).toEqual(['hold', 'settle'])
  })
})

describe('a cancel that was asked for', () => {
  it('is final for every waiter, and the key stays with the task [cancel-5]', async () => {
    const { taskId, answers, send } = await waitingCalls('final')
    await cancel(taskId)
    for (const answer of [...(await Promise.all(answers)), await send()]) {
      expect(answer.status).toBe(500)
      expect(answer.headers.get('x-should-retry')).toBe('false')
      expect(taskIdOf(answer)).toBe(taskId)
      expect((await errorOf(answer)).code).toBe('cancelled')
    }
    expect(await moneyOf(service.pool, taskId)).toEqual(['hold', 'release'])
    await service.simulator.release()
  })
})

describe('cancels at random moments', () => {
  it('get answers that equal the ledger, for tasks of every kind with waiters among them [cancel-4]', async () => {
    const { broken } = await runCancels({
      service,
      seed: 20_261_122,
      tasks: 12,
      parallel: 12,
      cancelMsMax: 1_500,
    })
    expect(broken).toEqual([])
  }, 120_000)
})
