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
type Case = {
  readonly family: keyof typeof models
  readonly fault: string
  /** What each call ends with. After an unknown outcome work may have been done, and Darkroom calls again. */
  readonly outcomes: readonly string[]
  /** Absent: the task succeeds. */
  readonly code?: TaskFailureCode
}

// One answer of each class, and of each failure code. test/upstream/outcomes.test.ts has the whole table.
const cases: readonly Case[] = [
  {
    family: 'A',
    fault: '400 times=1',
    outcomes: ['rejected invalid_request'],
    code: 'upstream_invalid_request',
  },
  {
    family: 'B',
    fault: 'moderation',
    outcomes: ['rejected content_policy'],
    code: 'content_policy_violation',
  },
  { family: 'A', fault: 'zero', outcomes: ['rejected no_image'], code: 'no_image_generated' },
  {
    family: 'A',
    fault: 'quota',
    outcomes: ['exhausted quota_exhausted'],
    code: 'rate_limit_exceeded',
  },
  {
    family: 'B',
    fault: '500',
    outcomes: Array<string>(3).fill('unknown server_error'),
    code: 'upstream_error',
  },
  { family: 'A', fault: 'reset times=1', outcomes: ['unknown connection_lost', 'succeeded image'] },
  { family: 'B', fault: 'url times=1', outcomes: ['unknown broken_body', 'succeeded image'] },
]

const service = await calmService()
const account = await service.account()
const client = createClient(service.url, account.secret)

const promptOf = ({ family, fault }: Case) => `Ends: ${family} [sim:${fault}]`

/** All tasks are submitted at once, so that their waits overlap. */
const ended = new Map<Case, Promise<TaskRecord>>()
beforeAll(() => {
  for (const one of cases) ended.set(one, submit(one))
})

async function submit(one: Case): Promise<TaskRecord> {
  const body = generateBody({ model: models[one.family], prompt: promptOf(one) })
  return client.ended((await client.accepted(body)).task_id)
}

it.each(cases)(
  'a task ends as its upstream says, after three calls at most, all with one key: $fault of family $family [limit-4, record-6]',
  async (one) => {
    const record = await ended.get(one)
    const { outcomes, code } = one
    expect(record?.status).toBe(code === undefined ? 'succeeded' : 'failed')
    expect(record?.error).toEqual(code && { code, message: taskFailureMessages[code] })
    const taskId = record?.task_id ?? ''
    expect(await outcomesOf(service.pool, taskId)).toEqual(outcomes)
    const calls = await service.simulator.calls({ prompt: promptOf(one) })
    expect(calls).toHaveLength(outcomes.length)
    expect(new Set(calls.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1)
    const end = code === undefined ? 'settle' : 'release'
    expect(await moneyOf(service.pool, taskId)).toEqual(['hold', end])
  },
)

describe('tasks that ended', () => {
  beforeAll(() => Promise.all(ended.values()))

  it('never made the gateway request a URL that an upstream names, and hold no credits [answer-4]', async () => {
    expect(await service.simulator.calls({ model: 'stray' })).toEqual([])
    expect(await balanceOf(service.pool, account.accountId)).toMatchObject({ held: 0 })
  })

  it('and failed are the only failed runs in Temporal, by failure code, account, model and channel', async () => {
    const idsOf = async (some: readonly Case[]) => {
      const records = await Promise.all(some.map(async (one) => ended.get(one)))
      return records.map((record) => record?.task_id ?? '').toSorted()
    }
    const failed = cases.filter(({ code }) => code !== undefined)
    const runs = `ExecutionStatus = 'Failed' AND DarkroomAccount = '${account.accountId}'`
    await expect.poll(() => found(runs)).toEqual(await idsOf(failed))
    for (const [code, some] of Map.groupBy(failed, (one) => one.code)) {
      const query = `${runs} AND DarkroomFailureCode = '${code}'`
      await expect.poll(() => found(query)).toEqual(await idsOf(some))
    }
    for (const [family, some] of Map.groupBy(failed, (one) => one.family)) {
      const channel = `DarkroomChannel = '${family.toLowerCase()}-main'`
      for (const query of [`DarkroomModel = '${models[family]}'`, channel]) {
        await expect.poll(() => found(`${runs} AND ${query}`)).toEqual(await idsOf(some))
      }
    }
  })

  /** Returns the tasks whose runs Temporal finds. It indexes a run some moments after its end. */
  async function found(query: string): Promise<readonly string[]> {
    const { client: temporal } = service.temporal.temporal
    const ids: string[] = []
    for await (const run of temporal.workflow.list({ query })) {
      ids.push(run.workflowId.slice('image/'.length))
    }
    return ids.toSorted()
  }
})
