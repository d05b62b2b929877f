import { describe, expect, it } from 'vitest'
import { usage as usageResponse } from '../../src/schema/answers/usageAnswer.ts'
import { createClient } from '../support/clients/client.ts'
import { generateBody } from '../support/clients/requestBodies.ts'
import { errorResponse } from '../support/clients/responses.ts'
import { newTaskOwner } from '../support/database/insertEndedTasks.ts'
import { assertLedgerVerifies, balanceOf } from '../support/database/money.ts'
import { darkroomJson } from '../support/service/darkroomCli.ts'
import type { TestAccount } from '../support/service/testAccount.ts'
import { calmService } from '../support/service/calmService.ts'

const service = await calmService()

const get = (query: string, { secret }: TestAccount, headers: Record<string, string> = {}) =>
  fetch(`${service.url}/v1/usage?${query}`, {
    headers: { ...headers, authorization: `Bearer ${secret}` },
  })

async function usage(query: string, owner: TestAccount) {
  const response = await get(query, owner)
  expect([query, response.status]).toEqual([query, 200])
  return usageResponse.strict().parse(await response.json())
}

async function csv(query: string, owner: TestAccount, accept = 'text/csv') {
  const response = await get(query, owner, { Accept: accept })
  expect(response.headers.get('vary')).toContain('Accept')
  return { type: response.headers.get('content-type'), text: await response.text() }
}

const year = 'start_time=2026-01-01&end_time=2027-01-01'

describe('GET /v1/usage', () => {
  it('counts the ends of real tasks, and their credits are what the balance has spent [usage-1]', async () => {
    const owner = await service.account()
    const create = ['key', 'create', owner.name]
    const second = await darkroomJson<{ key_id: string; secret: string }>(
      create,
      service.environment,
    )
    const sends = [
      [owner.secret, generateBody()],
      [owner.secret, generateBody({ prompt: '[sim:moderation]' })],
      [second.secret, generateBody({ quality: 'low' })],
    ] as const
    for (const [secret, body] of sends) {
      const client = createClient(service.url, secret)
      await client.ended((await client.accepted(body)).task_id)
    }
    const { data, total } = await usage('group_by=key,model', owner)
    const model = 'familyb-image-2-vip'
    const expected = [
      { model, key_id: owner.keyId, tasks: { succeeded: 1, failed: 1 }, credits: 211 },
      { model, key_id: second.key_id, tasks: { succeeded: 1, failed: 0 }, credits: 6 },
    ]
    expect(data).toEqual(expected.toSorted((a, b) => (a.key_id < b.key_id ? -1 : 1)))
    expect(total).toEqual({ tasks: { succeeded: 2, failed: 1 }, credits: 217 })
    expect((await balanceOf(service.pool, owner.accountId))?.spent).toBe(total.credits)
    await assertLedgerVerifies(service.pool)
  })

  it('adds up: two periods side by side are the whole [usage-2]', async () => {
    const { owner, insert } = await newTaskOwner(service)
    const at = '2026-05-05T12:00:00.000001Z'
    await insert({ count: 3, at, every: '1 microsecond' })
    const cut = '2026-05-05T12:00:00.000002Z'
    const parts = [`start_time=2026-05-01&end_time=${cut}`, `start_time=${cut}&end_time=2026-05-06`]
    const counts = await Promise.all(parts.map((part) => usage(part, owner)))
    expect(counts.map(({ total }) => total.tasks.succeeded)).toEqual([1, 2])
  })

  it('has one row without groups, and none for groups without ends; nothing of other accounts counts [ext-3]', async () => {
    const { insert } = await newTaskOwner(service)
    await insert({ count: 1, at: '2026-01-02' })
    const owner = await service.account()
    const nothing = { tasks: { succeeded: 0, failed: 0 }, credits: 0 }
    expect(await usage(year, owner)).toMatchObject({ data: [nothing], total: nothing })
    expect(await usage(`${year}&group_by=day`, owner)).toMatchObject({ data: [], total: nothing })
  })

  it('counts the last 30 days when no period is given', async () => {
    const { owner, insert } = await newTaskOwner(service)
    await insert({ count: 1, at: 'now' })
    await insert({ count: 1, at: '2020-01-01' })
    const { total, start_time, end_time } = await usage('', owner)
    expect(total.tasks.succeeded).toBe(1)
    expect(Date.parse(end_time) - Date.parse(start_time)).toBe(30 * 86_400_000)
  })

  it('gives the rows as CSV to a client that accepts it [usage-5]', async () => {
    const { owner, insert } = await newTaskOwner(service)
    const at = '2026-06-01T00:00:00Z'
    await insert({ count: 2, at, credits: 9 })
    await insert({ count: 1, at, status: 'failed' })
    expect(await csv(`${year}&group_by=key,day,model`, owner)).toEqual({
      type: 'text/csv; charset=utf-8',
      text:
        'start_time,model,key_id,succeeded,failed,credits\r\n' +
        '2026-06-01T00:00:00Z,familyb-image-2-vip,key_x,2,1,18\r\n',
    })
    expect((await csv(year, owner)).text).toBe('succeeded,failed,credits\r\n2,1,18\r\n')
    expect((await csv(`start_time=2025-01-01&end_time=2026-01-01&group_by=day`, owner)).text).toBe(
      'start_time,succeeded,failed,credits\r\n',
    )
    for (const accept of [
      '*/*',
      'application/json, text/csv;q=0.9',
      'image/png',
      '',
      'text/*;q=0',
    ]) {
      expect([accept, (await csv(year, owner, accept)).type]).toEqual([accept, 'application/json'])
    }
  })

  it('refuses an answer of more than 10,000 rows', async () => {
    const { owner, insert } = await newTaskOwner(service)
    const at = '1990-01-01'
    await insert({ count: 10_001, at, every: '1 day' })
    const all = 'start_time=0&end_time=2100-01-01&group_by=day'
    const response = await get(all, owner)
    expect(response.status).toBe(400)
    expect(errorResponse.parse(await response.json()).error.param).toBe('group_by')
    const { data } = await usage(all.replace('time=0', 'time=1990-01-02'), owner)
    expect(data).toHaveLength(10_000)
  })

  it('refuses a query that is wrong, and names the parameter', async () => {
    const account = await service.account()
    for (const [query, param] of [
      ['start_time=2026-01-02&end_time=2026-01-01', 'end_time'],
      ['start_time=2026-01-01&end_time=2026-01-01T00:00:00Z', 'end_time'],
      ['start_time=', 'start_time'],
      ['end_time=tomorrow', 'end_time'],
      ['start_time=2026-01-01T00:00:00', 'start_time'],
      ['start_time=0&start_time=1', 'start_time'],
      ...['', 'week', 'day,day', 'day,', 'day;drop', 'Day', 'day&group_by=key'].map((value) => [
        `group_by=${value}`,
        'group_by',
      ]),
      ['groupby=day', 'groupby'],
    ] as const) {
      const response = await get(query, account)
      const { error } = errorResponse.parse(await response.json())
      expect([query, response.status, error.param]).toEqual([query, 400, param])
    }
  })
})

describe('a period of usage', () => {
  it('is final 60 seconds after its end: no end of a task stays uncommitted for longer [usage-4]', async () => {
    const { rows } = await service.pool.query<{ name: string; ms: number }>(
      `select name, setting::int as ms from pg_settings
       where name in ('statement_timeout', 'idle_in_transaction_session_timeout')`,
    )
    // The row of an end has the time when its statement began. The statement is the last one before the commit.
    expect(rows).toHaveLength(2)
    for (const { ms } of rows) expect(ms).toBeGreaterThan(0)
    expect(rows.reduce((sum, { ms }) => sum + ms, 0)).toBeLessThan(60_000)
  })
})
