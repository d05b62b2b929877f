import { once } from 'node:events'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { runCancels } from '../support/chaos/runCancels.ts'
import type { Client } from '../support/clients/client.ts'
import { createClient, errorOf } from '../support/clients/client.ts'
import type { RawCall } from '../support/clients/rawCalls.ts'
import { leaving, openCall } from '../support/clients/rawCalls.ts'
import { generateBody } from '../support/clients/requestBodies.ts'
import * as call from '../support/clients/syncCalls.ts'
import { moneyOf, assertLedgerVerifies, balanceOf } from '../support/database/money.ts'
import { paddedPng } from '../support/images.ts'
import { runStatus } from '../support/service/operatorRuns.ts'
import { mebibyte } from '../support/service/processUsage.ts'
import type { TestAccount } from '../support/service/testAccount.ts'
import { startTestService } from '../support/service/testService.ts'
import { until } from '../support/timing.ts'
import { eventOf, startReceiver } from '../support/webhooks/receiver.ts'
import { createWebhookClient } from '../support/webhooks/webhookClient.ts'

// Tasks whose clients leave, and tasks that are cancelled. The cancels at random moments come last: their refusals leave
// limits behind.

const concurrencyMax = 2
const credits = 100_000

let account: TestAccount
let client: Client
// Large enough that the API cannot send it in one write.
const image = paddedPng(3 * mebibyte, 7)
const service = await startTestService({
  apis: 2,
  channel: { concurrencyMax },
  simulator: { latency: { minMs: 20, maxMs: 300 }, image },
})
afterAll(() => service.stop())
beforeEach(async () => {
  account = await service.account(credits)
  client = createClient(service.url, account.secret)
})
afterEach(() => assertLedgerVerifies(service.pool))

type Task = { readonly taskId: string; readonly status: string }

async function tasks(): Promise<readonly Task[]> {
  const { rows } = await service.pool.query<Task>(
    `select task_id as "taskId", status from task where account_id = $1`,
    [account.accountId],
  )
  return rows
}

const accepted = () => until('the task', async () => (await tasks())[0])
const web = 'familyb-image-2-web'

const generations = (prompt: string, model = 'familyb-image-2-vip'): RawCall => ({
  path: '/v1/images/generations',
  body: { model, prompt },
})

/** Calls of another account take every place of family B until `release`. */
async function fillChannel(): Promise<void> {
  const other = createClient(service.url, (await service.account()).secret)
  const body = generateBody({ prompt: 'in the way [sim:hold]' })
  const before = (await service.simulator.calls({ prompt: 'in the way' })).length
  for (let n = 0; n < concurrencyMax; n += 1) await other.accepted(body)
  await service.simulator.waitForCalls(before + concurrencyMax, { prompt: 'in the way' })
}

/** A refusal of another account starts a cooldown, short enough that a synchronous call waits it out. */
async function cool(): Promise<void> {
  const other = createClient(service.url, (await service.account()).secret)
  const prompt = 'refused [sim:429 retry-after=2]'
  const answer = await call.generate(other, { prompt, model: web })
  expect([answer.status, await answer.text()]).toEqual([429, expect.any(String)])
}

type Moment = {
  readonly when: string
  /** `either`: charged when the upstream call began before the client left, else free. */
  readonly end: 'free' | 'charged' | 'either'
  readonly fault?: string
  readonly model?: string
  /** How the connection ends. Default: FIN. */
  readonly how?: 'RST'
  readonly before?: () => Promise<void>
  readonly half?: boolean
  /** Resolves at the moment when the client leaves. */
  readonly until: (prompt: string, socket: Socket) => Promise<unknown>
  readonly after?: () => unknown
}

const begun = (prompt: string) => service.simulator.waitForCalls(1, { prompt })
const release = () => void service.simulator.release()
const shortly = () => sleep(300)
const queued: Moment = {
  when: 'its task is queued',
  end: 'free',
  before: fillChannel,
  until: async () => [await accepted(), await shortly()],
  // A place that is free before the API has noticed would let the call begin.
  after: () => ended(true).finally(release),
}
const moments: readonly Moment[] = [
  { when: 'half of its body is sent', end: 'free', half: true, until: () => sleep(50) },
  { when: 'its task is accepted', end: 'either', until: accepted },
  queued,
  { ...queued, when: 'its task is queued, and resets the connection', how: 'RST' },
  {
    when: 'its model cools down',
    end: 'free',
    model: web,
    before: cool,
    until: async () => [await accepted(), await shortly()],
  },
  { when: 'the upstream call begins', end: 'charged', fault: 'hold', until: begun, after: release },
  { when: 'the image is on its way', end: 'charged', until: (_, socket) => once(socket, 'data') },
]

/** Waits until the task of the account has ended. Returns `undefined` when no task was made. */
async function ended(made: boolean): Promise<Task | undefined> {
  if (!made) return undefined
  return until('the end', async () =>
    (await tasks()).find(({ status }) => status === 'succeeded' || status === 'failed'),
  )
}

function repeat({ path, body }: RawCall, key: string): Promise<Response> {
  return fetch(`${service.url}${path}`, {
    method: 'POST',
    headers: {
      authorization: client.authorization,
      'content-type': 'application/json',
      'idempotency-key': key,
    },
    body: JSON.stringify(body),
  })
}

/** Does the same, and once more as long as the answer is a 500 that may be repeated, as official clients do. */
async function repeatUntilServed(made: RawCall, key: string): Promise<Response> {
  for (let tries = 1; ; tries += 1) {
    const answer = await repeat(made, key)
    if (tries === 4 || answer.status !== 500 || answer.headers.has('x-should-retry')) return answer
    expect(await errorOf(answer)).toMatchObject({ code: 'cancelled' })
    await sleep(100)
  }
}

async function chargedOnce(task: Task, prompt: string, again: RawCall): Promise<void> {
  expect(task.status).toBe('succeeded')
  expect(await moneyOf(service.pool, task.taskId)).toEqual(['hold', 'settle'])
  const result = await call.resultText(client, task.taskId)
  // A retry with the same key returns the image that was charged.
  const answer = await repeat(again, 'left')
  expect([answer.status, call.taskIdOf(answer)]).toEqual([200, task.taskId])
  expect(await answer.text()).toBe(result)
  expect(await service.simulator.calls({ prompt })).toHaveLength(1)
}

async function free(task: Task | undefined, prompt: string): Promise<void> {
  const whole = { available: credits, held: 0, spent: 0 }
  expect(await balanceOf(service.pool, account.accountId)).toEqual(whole)
  expect(await service.simulator.calls({ prompt })).toEqual([])
  const record = task === undefined ? undefined : await client.ended(task.taskId)
  expect(record?.error?.code ?? 'no task').toBe(task === undefined ? 'no task' : 'cancelled')
}

describe('a synchronous client that leaves', () => {
  it.each(moments)(
    'is charged once and can read its image, or is charged nothing: $when [money-3]',
    async (moment) => {
      const prompt = `${moment.when} [sim:${moment.fault ?? 'ok'}]`
      await moment.before?.()
      const made = generations(prompt, moment.model)
      const socket = openCall(client, made, { key: 'left', half: moment.half === true })
      await once(socket, 'connect')
      await moment.until(prompt, socket)
      leaving[moment.how ?? 'FIN'](socket)
      await sleep(100)
      await moment.after?.()
      const task = await ended(moment.half !== true && (await tasks()).length > 0)
      socket.destroy()
      const end = moment.end === 'either' ? endOf(task) : moment.end
      if (end === 'charged' && task !== undefined) await chargedOnce(task, prompt, made)
      else await free(task, prompt)
      expect(endOf(task)).toBe(end)
    },
  )
})

describe('a synchronous client that leaves and comes back at once with its key', () => {
  it('gets its image and is charged once, whether or not its first task was cancelled [money-4]', async () => {
    await fillChannel()
    const gaps = [0, 0, 2, 5, 10, 20]
    const back = gaps.map(async (gapMs, n) => {
      const [made, key] = [generations(`back ${n}`), `back ${n}`]
      const socket = openCall(client, made, { key, half: false })
      await until('all tasks', async () =>
        (await tasks()).length >= gaps.length ? true : undefined,
      )
      socket.destroy()
      await sleep(gapMs)
      return repeatUntilServed(made, key)
    })
    await sleep(500)
    release()
    const answers = await Promise.all(back)
    await Promise.all(answers.map((answer) => answer.arrayBuffer()))
    expect(answers.map(({ status }) => status)).toEqual(gaps.map(() => 200))
    const ends = (await tasks()).map(endOf)
    expect(ends.filter((end) => end === 'charged')).toHaveLength(gaps.length)
    expect(await balanceOf(service.pool, account.accountId)).toMatchObject({ held: 0 })
    for (const n of gaps.keys()) {
      expect(await service.simulator.calls({ prompt: `back ${n}` })).toHaveLength(1)
    }
  })
})

function endOf(task: Task | undefined): 'free' | 'charged' {
  return task?.status === 'succeeded' ? 'charged' : 'free'
}

const cancel = (taskId: string, { url, authorization } = client) =>
  fetch(`${url}/v1/tasks/${taskId}/cancel`, { method: 'POST', headers: { authorization } })

async function submit(prompt: string): Promise<string> {
  return (await client.accepted(generateBody({ prompt }))).task_id
}

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
    expect((await errorOf(await cancel(taskId)))['message']).toBe('The task has already succeeded.')
    expect(await moneyOf(service.pool, taskId)).toEqual(['hold', 'settle'])
    const failed = await submit('blocked [sim:moderation]')
    await client.ended(failed)
    const over = await cancel(failed)
    expect(over.status).toBe(409)
    expect((await errorOf(over))['message']).toBe('The task has already failed.')
  })

  it('is refused after a call with an unknown outcome, which may be charged [cancel-3]', async () => {
    const taskId = await submit('unknown [sim:500 times=1][sim:hold]')
    await callEnded(taskId, 'unknown')
    const refused = await cancel(taskId)
    expect(refused.status).toBe(409)
    expect((await errorOf(refused))['message']).toMatch(/may have done work|is under way/)
    await service.simulator.waitForCalls(2, { prompt: 'unknown' })
    await service.simulator.release()
    expect(await client.ended(taskId)).toMatchObject({ status: 'succeeded' })
    expect(await moneyOf(service.pool, taskId)).toEqual(['hold', 'settle'])
  })
})

describe('a cancel that was asked for', () => {
  it('is final for every waiter, and the key stays with the task [cancel-5]', async () => {
    await fillChannel()
    const headers = { 'idempotency-key': 'final' }
    const send = (url = service.url) =>
      call.generate({ ...client, url }, { prompt: 'final' }, headers)
    const answers = service.apis.map(({ url }) => send(url))
    const { taskId } = await accepted()
    await cancel(taskId)
    for (const answer of [...(await Promise.all(answers)), await send()]) {
      expect(answer.status).toBe(500)
      expect(answer.headers.get('x-should-retry')).toBe('false')
      expect(call.taskIdOf(answer)).toBe(taskId)
      expect((await errorOf(answer))['code']).toBe('cancelled')
    }
    expect(await moneyOf(service.pool, taskId)).toEqual(['hold', 'release'])
    await service.simulator.release()
  })

  it('is the event of a stream that has begun, and is not to be repeated [cancel-5, stream-5]', async () => {
    await fillChannel()
    const answer = await call.generate(client, { prompt: 'streamed', stream: true })
    const { taskId } = await accepted()
    await cancel(taskId)
    const [, data = ''] = /^event: error\ndata: (.*)$/m.exec(await call.textOf200(answer)) ?? []
    const error = { code: 'cancelled', task_id: taskId, should_retry: false }
    expect(JSON.parse(data)).toMatchObject({ type: 'error', error })
    expect(await moneyOf(service.pool, taskId)).toEqual(['hold', 'release'])
    await service.simulator.release()
  })
})

describe('cancels at random moments', () => {
  it('get answers that equal the ledger, for tasks of every kind with waiters among them [cancel-4]', async () => {
    // One of the tests above leaves a model that waits for 10 minutes.
    await service.pool.query('delete from cooldown')
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
