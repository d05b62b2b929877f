import { beforeAll, describe, expect, it } from 'vitest'
import type { TaskFailureCode } from '../../src/domain/failure.ts'
import { taskFailureMessages } from '../../src/domain/failure.ts'
import type { TaskRecord } from '../support/clients/client.ts'
import { createClient } from '../support/clients/client.ts'
import { generateBody } from '../support/clients/requestBodies.ts'
import { balanceOf, moneyOf } from '../support/database/money.ts'
import { outcomesOf } from '../support/database/testAttempts.ts'
import { calmService } from '../support/service/calmService.ts'

const models = { A: 'familya-3.1-flash-image', B: 'familyb-image-2-vip' } as const
type Family = keyof typeof models
type Row = readonly [fault: string, families: string, outcome: string, code?: TaskFailureCode]

// One answer of each class, and of each failure code. test/upstream/outcomes.test.ts has the whole table.

/** Answers that end the task after the first call. */
const endedByOneCall: readonly Row[] = [
  ['400 times=1', 'AB', 'rejected invalid_request', 'upstream_invalid_request'],
  ['moderation', 'B', 'rejected content_policy', 'content_policy_violation'],
  ['zero', 'A', 'rejected no_image', 'no_image_generated'],
  ['quota', 'A', 'exhausted quota_exhausted', 'rate_limit_exceeded'],
]

/** Work may have been done: Darkroom calls again, three times at most. */
const unknowns: readonly Row[] = [
  ['reset', 'A', 'unknown connection_lost'],
  ['url', 'B', 'unknown broken_body'],
]
const unknownForEver: readonly Row[] = [['500', 'B', 'unknown server_error']]

const casesOf = (rows: readonly Row[], more = '') =>
  rows.flatMap(([fault, families, outcome, code = 'upstream_error']) =>
    (['A', 'B'] as const)
      .filter((family) => families.includes(family))
      .map((family) => ({ family, fault: fault + more, outcome, code })),
  )

const service = await calmService()
const account = await service.account()
const client = createClient(service.url, account.secret)

/** All tasks are submitted at once, so that their waits overlap. */
const underWay = new Map<string, Promise<TaskRecord>>()
const nameOf = (one: { family: Family; fault: string }) => `Ends: ${one.family} ${one.fault}`
async function submit(one: { family: Family; fault: string }): Promise<TaskRecord> {
  const prompt = `${nameOf(one)} [sim:${one.fault}]`
  const body = generateBody({ model: models[one.family], prompt })
  const { task_id } = await client.accepted(body)
  return client.ended(task_id)
}

function callsOf(one: { family: Family; fault: string }) {
  return service.simulator.calls({ prompt: `${nameOf(one)} [` })
}

describe('an upstream answer that ends the task', () => {
  const cases = casesOf(endedByOneCall)
  beforeAll(() => cases.forEach((one) => underWay.set(nameOf(one), submit(one))))

  it.each(cases)('ends it after one call: $fault of family $family [record-6]', async (one) => {
    const record = await underWay.get(nameOf(one))
    expect(record?.status).toBe('failed')
    expect(record?.error).toEqual({ code: one.code, message: taskFailureMessages[one.code] })
    expect(record).not.toHaveProperty('output')
    expect(await callsOf(one)).toHaveLength(1)
    const taskId = record?.task_id ?? ''
    expect(await outcomesOf(service.pool, taskId)).toEqual([one.outcome])
    expect(await moneyOf(service.pool, taskId)).toEqual(['hold', 'release'])
  })
})

describe('an unknown outcome', () => {
  const once = casesOf(unknowns, ' times=1')
  const forEver = casesOf(unknownForEver)
  beforeAll(() => [...once, ...forEver].forEach((one) => underWay.set(nameOf(one), submit(one))))

  it.each(forEver)(
    'fails the task after three calls and releases its hold: $fault of family $family [limit-4]',
    async (one) => {
      const record = await underWay.get(nameOf(one))
      expect(record).toMatchObject({ status: 'failed', error: { code: 'upstream_error' } })
      expect(await callsOf(one)).toHaveLength(3)
      const taskId = record?.task_id ?? ''
      expect(await outcomesOf(service.pool, taskId)).toEqual(Array(3).fill(one.outcome))
      expect(await moneyOf(service.pool, taskId)).toEqual(['hold', 'release'])
    },
  )

  it.each(once)(
    'is followed by another call with the same upstream key: $fault of family $family [limit-4]',
    async (one) => {
      const record = await underWay.get(nameOf(one))
      expect(record?.status).toBe('succeeded')
      const keys = (await callsOf(one)).map(({ idempotencyKey }) => idempotencyKey)
      expect(keys).toEqual([keys[0], keys[0]])
      const taskId = record?.task_id ?? ''
      expect(await outcomesOf(service.pool, taskId)).toEqual([one.outcome, 'succeeded image'])
      expect(await moneyOf(service.pool, taskId)).toEqual(['hold', 'settle'])
    },
  )

  it('never makes the gateway request a URL that an upstream names [answer-4]', async () => {
    expect(await service.simulator.strayRequests()).toBe(0)
  })
})

describe('tasks that failed', () => {
  type Ended = { readonly taskId: string; readonly code: string; readonly model: string }
  let failed: readonly Ended[]
  beforeAll(async () => {
    await Promise.all(underWay.values())
    const { rows } = await service.pool.query<Ended>(
      `select task_id as "taskId", failure_code as code, model from task
       where status = 'failed' and account_id = $1`,
      [account.accountId],
    )
    failed = rows
  })

  /** Returns the tasks whose runs Temporal finds. It indexes a run some moments after its end. */
  const found = (query: string) => async (): Promise<readonly string[]> => {
    const { client: temporal } = service.temporal.temporal
    const ids: string[] = []
    for await (const run of temporal.workflow.list({ query }))
      ids.push(run.workflowId.slice('image/'.length))
    return ids.toSorted()
  }

  it('are the only failed runs in Temporal, by failure code, account, model and channel', async () => {
    const ids = (picked: readonly Ended[]) => picked.map(({ taskId }) => taskId).toSorted()
    const runs = `ExecutionStatus = 'Failed' AND DarkroomAccount = '${account.accountId}'`
    await expect.poll(found(runs)).toEqual(ids(failed))
    expect(new Set(failed.map(({ code }) => code)).size).toBeGreaterThan(4)
    for (const [code, some] of Map.groupBy(failed, (one) => one.code)) {
      const query = `${runs} AND DarkroomFailureCode = '${code}'`
      await expect.poll(found(query)).toEqual(ids(some))
    }
    for (const [family, model] of Object.entries(models)) {
      const some = ids(failed.filter((one) => one.model === model))
      await expect.poll(found(`${runs} AND DarkroomModel = '${model}'`)).toEqual(some)
      const ofChannel = `DarkroomChannel = '${family.toLowerCase()}-main'`
      await expect.poll(found(`${runs} AND ${ofChannel}`)).toEqual(some)
    }
  })
})

it('no credits stay held', async () => {
  expect(await balanceOf(service.pool, account.accountId)).toMatchObject({ held: 0 })
})
