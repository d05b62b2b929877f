import type { FileHandle } from 'node:fs/promises'
import { open, readdir } from 'node:fs/promises'
import { Client } from 'pg'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { Caller } from '../../../src/domain/accounts/account.ts'
import { moveCredits, readAccount } from '../../../src/store/accounts/accountRows.ts'
import { setBudget } from '../../../src/store/accounts/budgets.ts'
import { setLimits } from '../../../src/store/accounts/setLimits.ts'
import { verifyLedger } from '../../../src/store/accounts/verifyLedger.ts'
import { withTransaction } from '../../../src/store/connection/transaction.ts'
import { editBody, formBody, formType, generateBody } from '../../support/clients/requestBodies.ts'
import { editParts } from '../../support/clients/syncCalls.ts'
import { useTestDatabase } from '../../support/database/testDatabase.ts'
import { openStoredApi } from '../../support/http/storedApi.ts'
import { redPixelPng } from '../../support/images.ts'

const database = useTestDatabase()

const vip = 'familyb-image-2-vip'
const pro = 'familya-3-pro-image'

type Headers = Readonly<Record<string, string>>
type Api = Awaited<ReturnType<typeof openApi>>
/** Sends an edit. `prompt` tells two requests apart. */
type Edit = (api: Api, headers?: Headers, prompt?: string) => Promise<Response>

const submitted: Edit = ({ postJson }, headers, prompt = 'x') =>
  postJson('/v1/images/tasks', editBody({ prompt }), headers)

const synchronous: Edit = ({ send }, headers, prompt = 'x') =>
  send('/v1/images/edits', {
    method: 'POST',
    headers: { 'Content-Type': formType, ...headers },
    body: new Uint8Array(formBody(editParts({ model: vip, prompt }))),
  })

const native =
  (method: 'generateContent' | 'asyncGenerateContent', aspectRatio = '1:1'): Edit =>
  ({ postJson }, headers, text = 'x') => {
    const data = redPixelPng.toString('base64')
    const parts = [{ text }, { inlineData: { mimeType: 'image/png', data } }]
    const generationConfig = { imageConfig: { aspectRatio } }
    return postJson(
      `/v1beta/models/${pro}:${method}`,
      { contents: [{ parts }], generationConfig },
      headers,
    )
  }

const edits: readonly (readonly [string, Edit])[] = [
  ['a submit', submitted],
  ['a synchronous edit', synchronous],
  ['generateContent', native('generateContent')],
  ['asyncGenerateContent', native('asyncGenerateContent')],
]

const openApi = (changed?: Partial<Caller>) => openStoredApi(database.pool, changed)

/** Runs requests, and returns all that they wrote: statements that do not only read, files, flushes and rows. */
async function written({ folder, blobs }: Api, run: () => Promise<unknown>) {
  const rows = 'select count(*)::int as count from upload'
  const countRows = async () => (await database.pool.query<{ count: number }>(rows)).rows[0]?.count
  const before = { rows: await countRows(), files: await readdir(folder, { recursive: true }) }
  const handle = await open(folder)
  const flushes = vi.spyOn<FileHandle, 'sync'>(Object.getPrototypeOf(handle), 'sync')
  await handle.close()
  const puts = vi.spyOn(blobs, 'put')
  const texts = await statementsOf(run)
  const found = {
    puts: puts.mock.calls.length,
    flushes: flushes.mock.calls.length,
    statements: texts.filter((text) => !/^\s*select /.test(text)),
  }
  for (const spy of [flushes, puts]) spy.mockRestore()
  expect(await readdir(folder, { recursive: true })).toEqual(before.files)
  expect(await countRows()).toBe(before.rows)
  return found
}

/** Runs requests, and returns the statements that they sent to PostgreSQL. */
async function statementsOf(run: () => Promise<unknown>): Promise<readonly string[]> {
  const queries = vi.spyOn(Client.prototype, 'query')
  await run()
  const texts = queries.mock.calls.flatMap(([query]: readonly unknown[]) => textOf(query))
  queries.mockRestore()
  return texts
}

const nothing = { puts: 0, flushes: 0, statements: [] }

function textOf(query: unknown): readonly string[] {
  if (typeof query === 'string') return [query]
  const text: unknown = Reflect.get(Object(query), 'text')
  return typeof text === 'string' ? [text] : []
}

/** Changes something so that no task can be made. */
type Barrier = (api: Api) => Promise<unknown>

const limited =
  (limits: Parameters<typeof setLimits>[2]): Barrier =>
  async ({ name, postJson }) => {
    await setLimits(database.pool, name, limits)
    expect((await postJson('/v1/images/tasks', generateBody())).status).toBe(202)
  }

const withoutCredits: Barrier = ({ caller: { accountId } }) =>
  withTransaction(database.pool, async (client) => {
    const { available } = await readAccount(database.pool, accountId)
    await moveCredits(client, accountId, -available)
  })

const withBudget: Barrier = ({ caller }) =>
  withTransaction(database.pool, (client) =>
    setBudget(client, caller.keyId, { credits: 1, period: 'day' }),
  )

const inCooldown: Barrier = async ({ service }) => {
  await database.pool.query(
    `insert into channel (name) values ('channel-A'), ('channel-B') on conflict do nothing`,
  )
  await database.pool.query(`insert into cooldown (channel, model, fault, until_at, max, length_ms)
    select name, '*', false, now() + interval '1 minute', 1, 60000 from unnest('{channel-A,channel-B}'::text[]) name`)
  onTestFinished(async () => void (await database.pool.query('delete from cooldown')))
  for (const model of [vip, pro] as const) service.noteRefusal(model)
}

const barriers: readonly (readonly [string, number, Barrier])[] = [
  ['beyond the limit of requests', 429, limited({ requests: { limit: 1, period: 'hour' } })],
  ['beyond the limit of live tasks', 429, limited({ liveTasks: 1 })],
  ['without the credits', 403, withoutCredits],
  ['beyond the budget of its key', 403, withBudget],
]

describe('an edit that is refused writes nothing, with a key and without [submit-5]', () => {
  const tried = async (api: Api, edit: Edit) => {
    const statuses: number[] = []
    const found = await written(api, async () => {
      for (const headers of [{}, { 'Idempotency-Key': 'refused' }]) {
        statuses.push((await edit(api, headers)).status)
      }
    })
    return { ...found, statuses }
  }
  const refused = (status: number) => ({ ...nothing, statuses: [status, status] })

  it.each(
    barriers.flatMap((barrier) => edits.map((edit) => [edit[0], ...barrier, edit[1]] as const)),
  )('%s %s', async (_edit, _what, status, bar, edit) => {
    const api = await openApi()
    await bar(api)
    expect(await tried(api, edit)).toEqual(refused(status))
  })

  it.each(edits)('%s of a model that the account may not use', async (_what, edit) => {
    expect(await tried(await openApi({ models: [] }), edit)).toEqual(refused(403))
  })

  it.each([
    ['generateContent', native('generateContent', '1:4')],
    ['asyncGenerateContent', native('asyncGenerateContent', '1:4')],
  ] as const)('%s of a form that the model does not have', async (_what, edit) => {
    expect(await tried(await openApi(), edit)).toEqual(refused(400))
  })

  it.each([
    ['a synchronous edit', synchronous],
    ['generateContent', native('generateContent')],
  ] as const)('%s while every channel is in a long cooldown', async (_what, edit) => {
    const api = await openApi()
    await inCooldown(api)
    expect(await tried(api, edit)).toEqual(refused(429))
  })
})

describe('an edit whose key is used writes nothing, whatever bars a new task [submit-5]', () => {
  const key = { 'Idempotency-Key': 'used' }

  it.each(edits)('%s', async (_what, edit) => {
    const api = await openApi()
    const first = await edit(api, key)
    const taskOf = ({ headers }: Response) => headers.get('x-task-id') ?? headers.get('location')
    await withoutCredits(api)
    const found = await written(api, async () => {
      const again = await edit(api, key)
      expect([again.status, taskOf(again)]).toEqual([first.status, taskOf(first)])
      expect(again.headers.get('idempotent-replayed')).toBe('true')
      const other = await edit(api, key, 'another prompt')
      expect(other.status).toBe(409)
      expect(other.headers.get('x-should-retry')).toBe('false')
    })
    expect(found).toEqual(nothing)
  })
})

describe('the insert decides about edits that come at once', () => {
  const count = 24
  const at = (n: number) => ({ 'Idempotency-Key': `at once ${n}` })
  const statuses = async (answering: readonly Promise<Response>[]) => {
    const answers = await Promise.all(answering)
    return answers.map(({ status }) => status).toSorted((one, other) => one - other)
  }
  const many = Array.from({ length: count }, (_, n) => n)

  it('the limit of requests is taken by those that made a task, and by no other', async () => {
    const api = await openApi()
    await setLimits(database.pool, api.name, { requests: { limit: 5, period: 'hour' } })
    const found = await statuses(many.map((n) => submitted(api, at(n))))
    expect(found).toEqual(many.map((n) => (n < 5 ? 202 : 429)))
    const { rows } = await database.pool.query<{ count: number }>(
      `select count(*)::int as count from upload join task using (task_id)
       where account_id = $1 and sweep_after = 'infinity'`,
      [api.caller.accountId],
    )
    expect(rows).toEqual([{ count: 5 }])
    expect(await verifyLedger(database.pool)).toEqual([])
  })
})

it('a submit of texts costs one statement, with a key and without', async () => {
  const api = await openApi()
  for (const headers of [{}, { 'Idempotency-Key': 'texts' }]) {
    const statements = await statementsOf(async () => {
      expect((await api.postJson('/v1/images/tasks', generateBody(), headers)).status).toBe(202)
    })
    expect(statements).toEqual([expect.stringContaining('insert into task ')])
  }
})
