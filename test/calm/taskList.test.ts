import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { TaskRecord } from '../support/clients/client.ts'
import { createClient } from '../support/clients/client.ts'
import { generateBody } from '../support/clients/requestBodies.ts'
import { errorResponse, taskRecordResponse } from '../support/clients/responses.ts'
import { newTaskOwner } from '../support/database/insertEndedTasks.ts'
import type { TestAccount } from '../support/service/testAccount.ts'
import { calmService } from '../support/service/calmService.ts'

const taskListResponse = z.strictObject({
  object: z.literal('list'),
  data: z.array(taskRecordResponse.omit({ result: true })),
  has_more: z.boolean(),
})

const service = await calmService()
const account = await service.account()

function get(path: string, { secret }: TestAccount): Promise<Response> {
  return fetch(`${service.url}${path}`, { headers: { authorization: `Bearer ${secret}` } })
}

type Listed = z.infer<typeof taskListResponse>

async function page(query: string, owner: TestAccount): Promise<Listed> {
  const response = await get(`/v1/tasks?${query}`, owner)
  expect([query, response.status]).toEqual([query, 200])
  return taskListResponse.parse(await response.json())
}

const idsOf = ({ data }: Listed) => data.map(({ task_id }) => task_id)

describe('GET /v1/tasks', () => {
  it('lists records as the lookup gives them, without `result` [list-5]', async () => {
    const owner = await service.account()
    const client = createClient(service.url, owner.secret)
    const kept = await client.accepted(generateBody())
    await client.ended(kept.task_id)
    const failed = await client.accepted(generateBody({ prompt: '[sim:moderation]' }))
    await client.ended(failed.task_id)
    const { data, has_more } = await page('', owner)
    expect(has_more).toBe(false)
    const looked = await Promise.all(
      [failed, kept].map(async ({ task_id }): Promise<TaskRecord> => {
        const record: TaskRecord = JSON.parse(await (await client.lookup(task_id)).text())
        return record
      }),
    )
    expect(looked.map(({ result: _result, ...record }) => record)).toEqual(data)
    const [asset] = data[1]?.output?.assets ?? []
    expect((await fetch(asset?.url ?? '')).status).toBe(200)
  })

  it('pages through tasks of the same microsecond, each once, while new tasks arrive [list-1, list-3]', async () => {
    const { owner, insert } = await newTaskOwner(service)
    const at = '2026-01-01T00:00:00.000001Z'
    const same = await insert({ count: 30, at })
    const apart = await insert({ count: 25, at, every: '1 microsecond' })
    const expected = new Set([...same, ...apart])
    const seen: string[] = []
    for (let after = ''; ;) {
      const listed = await page(`limit=7${after}`, owner)
      seen.push(...idsOf(listed))
      if (!listed.has_more) break
      after = `&after=${seen.at(-1)}`
      await insert({ count: 2, at: '2026-02-01' })
    }
    expect(seen).toHaveLength(55)
    expect(new Set(seen)).toEqual(expected)
    // Newest first, and among tasks of one microsecond the greatest id first.
    expect(seen.slice(0, 24)).toEqual(apart.slice(1).toReversed())
    expect(seen.slice(24)).toEqual([...same, ...apart.slice(0, 1)].toSorted().toReversed())
  })

  it('takes 20 tasks when no limit is given, and 100 at most [list-2]', async () => {
    const { owner, insert } = await newTaskOwner(service)
    await insert({ count: 101 })
    for (const [query, count] of [
      ['', 20],
      ['limit=100', 100],
      ['limit=001', 1],
    ] as const) {
      const listed = await page(query, owner)
      expect([query, listed.data.length, listed.has_more]).toEqual([query, count, true])
    }
  })

  it('continues when the last task of a page has been purged, and hides records that are due for it [list-3]', async () => {
    const { owner, insert } = await newTaskOwner(service)
    const ids = await insert({ count: 6, every: '1 second', credits: 0 })
    const first = await page('limit=2', owner)
    expect(idsOf(first)).toEqual([ids[5], ids[4]])
    await service.pool.query('delete from task where task_id = any($1)', [[ids[4], ids[2]]])
    const second = await page(`limit=2&after=${ids[4]}`, owner)
    expect(idsOf(second)).toEqual([ids[3], ids[1]])
    expect(second.has_more).toBe(true)
    const last = await page(`limit=1&after=${ids[1]}`, owner)
    expect([idsOf(last), last.has_more]).toEqual([[ids[0]], false])
    await service.pool.query('update task set purge_at = now() where task_id = $1', [ids[0]])
    expect(await page(`limit=2&after=${ids[1]}`, owner)).toMatchObject({
      data: [],
      has_more: false,
    })
  })

  it('filters by status, model, action and time [list-6]', async () => {
    const { pool } = service
    const { owner, insert } = await newTaskOwner(service)
    const [old] = await insert({ count: 1, at: '2026-03-01T00:00:00.5Z' })
    const model = 'familya-3-pro-image'
    const [failed] = await insert({ count: 1, model, status: 'failed' })
    const [edit] = await insert({ count: 1 })
    await pool.query(`update task set action = 'edit' where task_id = $1`, [edit])
    await pool.query(`update task set expires_at = now() where task_id = $1`, [old])
    const cases: readonly (readonly [string, readonly (string | undefined)[]])[] = [
      ['status=succeeded', [edit]],
      ['status=expired', [old]],
      ['status=failed', [failed]],
      ['status=queued', []],
      [`model=${model}`, [failed]],
      ['action=edit', [edit]],
      ['action=edit&status=failed', []],
      ['created_before=2026-03-01T00:00:00.5Z', []],
      ['created_before=2026-03-01T00:00:00.500001Z', [old]],
      ['created_after=2026-03-01T00:00:00.5Z&created_before=1772323201', [old]],
      ['created_after=2026-03-01T00:00:00.500001Z&created_before=2026-03-02', []],
      ['created_after=2026-03-01T02:00:00%2B02:00&created_before=1772323200.500001', [old]],
    ]
    for (const [query, ids] of cases) {
      expect([query, ...idsOf(await page(query, owner))]).toEqual([query, ...ids])
    }
  })

  it('finds tasks of a model that is gone, and names only models that the account may use [list-6]', async () => {
    const { owner, accountId, insert } = await newTaskOwner(service)
    const [task] = await insert({ count: 1, model: 'gone' })
    await service.pool.query('update account set models = $1 where account_id = $2', [
      ['familyb-image-2-web'],
      accountId,
    ])
    expect(idsOf(await page('model=gone', owner))).toEqual([task])
    expect(idsOf(await page('model=gone&status=queued', owner))).toEqual([])
    const refused = await (await get('/v1/tasks?model=gpt', owner)).text()
    expect(refused).toContain('Available models: familyb-image-2-web.')
  })

  it('shows no tasks of other accounts, and does not take their ids [ext-3, list-4]', async () => {
    const { insert } = await newTaskOwner(service)
    const { owner: other } = await newTaskOwner(service)
    const [own] = await insert({ count: 1 })
    expect(idsOf(await page('', other))).toEqual([])
    const unknown = `task_${'0'.repeat(32)}`
    for (const after of [own, unknown]) {
      const response = await get(`/v1/tasks?after=${after}`, other)
      expect(response.status).toBe(400)
      expect(await response.json()).toEqual({
        error: {
          message: `Invalid value for 'after': the account has no task with this id.`,
          type: 'invalid_request_error',
          param: 'after',
          code: 'invalid_value',
        },
      })
    }
  })

  it('refuses a query that is wrong, and names the parameter [list-2, list-4]', async () => {
    const refused: Readonly<Record<string, readonly string[]>> = {
      limit: ['0', '101', '', '-1', '1.0', '1e1', '%2B5', '٥', '99999999999999999999', '5&limit=5'],
      after: ['', 'task_1', '%00', "task_'%20or%20true--"],
      status: ['done', 'SUCCEEDED', 'failed,expired'],
      model: ['gpt', '%00'],
      action: [''],
      created_after: ['yesterday', 'infinity'],
      created_before: ['2026-02-30'],
      cursor: ['x'],
    }
    for (const [param, values] of Object.entries(refused)) {
      for (const value of values) {
        const response = await get(`/v1/tasks?${param}=${value}`, account)
        const { error } = errorResponse.parse(await response.json())
        expect([value, response.status, error.param]).toEqual([value, 400, param])
      }
    }
  })
})
