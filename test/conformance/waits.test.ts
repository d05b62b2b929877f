import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { workflowIdOf } from '../../src/domain/ids.ts'
import { verifyLedger } from '../../src/store/accounts/verifyLedger.ts'
import type { Client, TaskRecord } from '../support/clients/client.ts'
import { createClient } from '../support/clients/client.ts'
import { generateBody } from '../support/clients/requestBodies.ts'
import { moneyOf } from '../support/database/money.ts'
import { darkroomJson } from '../support/service/darkroomCli.ts'
import type { TestAccount } from '../support/service/testAccount.ts'
import type { TestService } from '../support/service/testService.ts'
import { startTestService } from '../support/service/testService.ts'
import { stackStartMsMax } from '../support/stack/embeddedStack.ts'
import { until } from '../support/timing.ts'

let service: TestService
let account: TestAccount
let client: Client
beforeAll(async () => {
  service = await startTestService()
  account = await service.account()
  client = createClient(service.url, account.secret)
}, stackStartMsMax)
afterAll(async () => {
  await service.stop()
})

const waitMs = 3_000

describe('Retry-After', () => {
  const forms = [
    ['in seconds', 'seconds', 'familyb-image-2-web'],
    ['as a date', 'date', 'familya-3.1-flash-lite-image'],
    ['as RetryInfo', 'retry-info', 'familya-3-pro-image'],
    ['in retry-after-ms', 'ms', 'familya-3.1-flash-image'],
  ] as const
  /** Per model: a task that is refused, and a task submitted during the cooldown. */
  const ended = new Map<string, Promise<readonly TaskRecord[]>>()
  beforeAll(() => forms.forEach(([, form, model]) => ended.set(model, refusedAndNext(form, model))))

  async function refusedAndNext(form: string, model: string): Promise<readonly TaskRecord[]> {
    const prompt = `First [sim:429 retry-after=3 form=${form} times=1]`
    const first = await client.accepted(generateBody({ model, prompt }))
    await until('the cooldown', async () => {
      const found = await service.pool.query('select from cooldown where model = $1', [model])
      return found.rowCount === 1 ? true : undefined
    })
    const next = await client.accepted(generateBody({ model, prompt: 'Next' }))
    return Promise.all([client.ended(first.task_id), client.ended(next.task_id)])
  }

  it.each(forms)(
    'holds back every call to its model until it has passed; then both tasks succeed: %s [limit-3]',
    async (_, form, model) => {
      const records = await ended.get(model)
      expect(records?.map(({ status }) => status)).toEqual(['succeeded', 'succeeded'])
      const [refused, ...later] = await service.simulator.calls({ model })
      expect(refused?.status).toBe(429)
      expect(later.map(({ status }) => status)).toEqual([200, 200])
      const gapsMs = later.map(({ at }) => at - (refused?.at ?? 0))
      console.log(`${form}: next calls after ${gapsMs.join(' and ')} ms`)
      expect(Math.min(...gapsMs)).toBeGreaterThanOrEqual(waitMs)
      for (const { task_id } of records ?? []) {
        expect(await moneyOf(service.pool, task_id)).toEqual(['hold', 'settle'])
      }
    },
  )
})

describe('a Retry-After of one year', () => {
  const fault = '[sim:429 retry-after=31536000]'

  it('counts for 15 minutes at most, during which a cancel costs nothing [money-5]', async () => {
    const model = 'familya-2.5-flash-image'
    const { task_id } = await client.accepted(generateBody({ model, prompt: `A ${fault}` }))
    const { rows } = await until('the cooldown', async () => {
      const found = await service.pool.query<{ seconds: number }>(
        `select extract(epoch from until_at - now())::int as seconds from cooldown where model = $1`,
        [model],
      )
      return found.rowCount === 1 ? found : undefined
    })
    expect(rows[0]?.seconds).toBeLessThanOrEqual(900)
    expect(rows[0]?.seconds).toBeGreaterThan(800)
    const delaySeconds = await until('the durable wait', () => nextRunSeconds(task_id))
    expect(delaySeconds).toBeLessThanOrEqual(901)
    expect(delaySeconds).toBeGreaterThan(800)
    expect(await (await client.lookup(task_id)).json()).toMatchObject({ status: 'processing' })

    const cancel = await darkroomJson(['task', 'cancel', task_id], service.environment)
    expect(cancel).toMatchObject({ cancelled: true })
    expect(await client.ended(task_id)).toMatchObject({ error: { code: 'cancelled' } })
    expect(await moneyOf(service.pool, task_id)).toEqual(['hold', 'release'])
    expect(await service.simulator.calls({ model })).toHaveLength(1)
  })

  it('ends the task at once as rate_limit_exceeded when it passes the deadline [record-6]', async () => {
    const model = 'familyb-image-2-vip'
    const { url } = await service.startApi({ TASK_DEADLINE_SECONDS: '600' })
    const hurried = createClient(url, account.secret)
    const { task_id } = await hurried.accepted(generateBody({ model, prompt: `B ${fault}` }))
    const record = await hurried.ended(task_id, { limitMs: 30_000 })
    expect(record).toMatchObject({ status: 'failed', error: { code: 'rate_limit_exceeded' } })
    expect(await moneyOf(service.pool, task_id)).toEqual(['hold', 'release'])
    expect(await service.simulator.calls({ model })).toHaveLength(1)
  })

  /** Returns in how many seconds Temporal runs the activity again. */
  async function nextRunSeconds(taskId: string): Promise<number | undefined> {
    const handle = service.temporal.temporal.client.workflow.getHandle(workflowIdOf(taskId))
    const { raw } = await handle.describe()
    const seconds = Number(raw.pendingActivities?.[0]?.currentRetryInterval?.seconds ?? 0)
    return seconds > 0 ? seconds : undefined
  }
})

describe('an API that cannot reach Temporal', () => {
  it('accepts every submit without delay; a worker starts the tasks', async () => {
    const { url } = await service.startApi({ TEMPORAL_ADDRESS: '127.0.0.1:9' })
    const cutOff = createClient(url, account.secret)
    const body = generateBody({ model: 'familya-3-pro-image', prompt: 'Cut off' })
    const latenciesMs: number[] = []
    const submitted: string[] = []
    for (let count = 0; count < 30; count += 1) {
      const startedAt = performance.now()
      submitted.push((await cutOff.accepted(body)).task_id)
      latenciesMs.push(performance.now() - startedAt)
    }
    const sorted = latenciesMs.toSorted((a, b) => a - b)
    console.log(
      `submits without Temporal: median ${sorted[15]?.toFixed(1)} ms, most ${sorted[29]?.toFixed(1)} ms`,
    )
    expect(sorted[15]).toBeLessThan(250)
    const records = await Promise.all(submitted.map((taskId) => cutOff.ended(taskId)))
    expect(new Set(records.map(({ status }) => status))).toEqual(new Set(['succeeded']))
    expect(await service.simulator.calls({ prompt: 'Cut off' })).toHaveLength(30)
  })
})

describe('the ledger after all tests', () => {
  it('verifies', async () => {
    expect(await verifyLedger(service.pool)).toEqual([])
  })
})
