import { beforeAll, describe, expect, it } from 'vitest'
import { budgetPeriods } from '../../../src/domain/accounts/budget.ts'
import { createModelTable } from '../../../src/domain/models/modelTable.ts'
import { qualities } from '../../../src/domain/models/models.ts'
import { moveCredits, readAccount } from '../../../src/store/accounts/accountRows.ts'
import { setBudget } from '../../../src/store/accounts/budgets.ts'
import { setLimits } from '../../../src/store/accounts/setLimits.ts'
import { withTransaction } from '../../../src/store/connection/transaction.ts'
import { editBody, generateBody, inputImage } from '../../support/clients/requestBodies.ts'
import { errorResponse } from '../../support/clients/responses.ts'
import { useTestDatabase } from '../../support/database/testDatabase.ts'
import { openStoredApi } from '../../support/http/storedApi.ts'
import { modelOf } from '../../support/models.ts'
import type { Seeded } from '../../support/seeded.ts'
import { createSeeded } from '../../support/seeded.ts'

const database = useTestDatabase()
const models = [...createModelTable().values()]
const seed = 7
const runs = 60

type Api = Awaited<ReturnType<typeof openStoredApi>>

const estimateOf = (api: Api, body: unknown, headers?: Record<string, string>) =>
  api.postJson('/v1/estimate', body, headers)

async function estimated(api: Api, body: unknown, headers?: Record<string, string>) {
  const answer = await estimateOf(api, body, headers)
  expect(answer.status).toBe(200)
  return Object(await answer.json())
}

async function errorOf(answer: Response) {
  const { code, message } = errorResponse.parse(await answer.json()).error
  return { code, message }
}

/** What an answer says of a submit: what it holds, or why it is refused. */
async function told(answer: Response) {
  const held = answer.headers.get('x-credits-held')
  if (held !== null) return Number(held)
  const { accepted, credits, reason, error } = Object(await answer.json())
  if (accepted === true) return credits
  const { code, message } = reason ?? error
  return { code, message }
}

/** Any request that a model supports. */
function anyBody({ pick, chance, between }: Seeded) {
  const model = pick(models)
  const images = chance(0.4) ? between(1, 3) : 0
  const body = {
    model: model.id,
    ...(chance(0.7) ? { size: pick(model.sizes) } : {}),
    ...(chance(0.7) ? { quality: pick(qualities) } : {}),
  }
  const input_images = Array.from({ length: images }, () => inputImage())
  return images === 0 ? generateBody(body) : editBody({ ...body, input_images })
}

/** The same request for an estimate, with the data of some images left out. */
function shorter({ chance }: Seeded, body: ReturnType<typeof anyBody>) {
  if (!('input_images' in body) || !Array.isArray(body.input_images)) return body
  const input_images = body.input_images.map((image) =>
    chance(0.5) ? image : { mime_type: 'image/png' },
  )
  return { ...body, input_images }
}

/** Changes what the account has: each of its means is sometimes too little. */
async function disturb(api: Api, { pick, chance, between }: Seeded): Promise<void> {
  const { accountId, keyId } = api.caller
  await withTransaction(database.pool, async (client) => {
    const { available } = await readAccount(database.pool, accountId)
    const moved = (chance(0.7) ? 10_000 : between(0, 100)) - available
    if (moved !== 0) await moveCredits(client, accountId, moved)
    const budget = { credits: between(1, 300), period: pick(budgetPeriods) }
    await setBudget(client, keyId, chance(0.3) ? budget : undefined)
    await setLimits(client, api.name, {
      requests: chance(0.4) ? { limit: between(1, 3), period: 'hour' } : null,
      liveTasks: chance(0.4) ? between(1, 20) : null,
    })
  })
}

let tables: readonly string[]
beforeAll(async () => {
  const { rows } = await database.pool.query<{ name: string }>(
    `select tablename as name from pg_tables where schemaname = 'public'`,
  )
  tables = rows.map(({ name }) => name)
})

/** A digest of all rows. */
async function digest(): Promise<unknown> {
  const each = tables.map(
    (name) => `(select md5(string_agg(t::text, '' order by t::text)) from ${name} t)`,
  )
  return (await database.pool.query(`select array[${each.join(', ')}] as digest`)).rows
}

describe('an estimate', () => {
  it(
    `equals what the submit right after it holds, or why it is refused, and writes nothing (seed ${seed}) [estimate-1, estimate-2, estimate-4, estimate-5]`,
    async () => {
      const seeded = createSeeded(seed)
      const api = await openStoredApi(database.pool)
      const outcomes = new Set<string>()
      for (let n = 0; n < runs; n += 1) {
        if (seeded.chance(0.3)) await disturb(api, seeded)
        const body = anyBody(seeded)
        const before = await digest()
        const estimate = await estimateOf(api, shorter(seeded, body))
        expect(await digest()).toEqual(before)
        const submit = await api.postJson('/v1/images/tasks', body)
        outcomes.add(`${estimate.status} ${submit.status}`)
        expect(await told(estimate)).toEqual(await told(submit))
      }
      expect([...outcomes]).toEqual(
        expect.arrayContaining(['200 202', '200 403', '200 429', '429 429']),
      )
    },
    runs * 1_000,
  )

  it('says what is left of the balance and of the budget [estimate-4]', async () => {
    const api = await openStoredApi(database.pool)
    const none = await estimated(api, generateBody({ quality: 'low' }))
    expect(none).toEqual({
      object: 'estimate',
      credits: 6,
      accepted: true,
      credits_available: 10_000,
      budget: null,
      expected_seconds: expect.any(Number),
    })
    await withTransaction(database.pool, (client) =>
      setBudget(client, api.caller.keyId, { credits: 10, period: 'day' }),
    )
    await api.postJson('/v1/images/tasks', generateBody({ quality: 'low' }))
    const midnight = new Date(Date.now())
    midnight.setUTCHours(24, 0, 0, 0)
    expect(await estimated(api, generateBody({ quality: 'low' }))).toMatchObject({
      accepted: false,
      reason: { code: 'insufficient_user_quota', message: expect.stringContaining('budget') },
      credits_available: 9_994,
      budget: { left: 4, renews_at: midnight.toISOString() },
    })
  })

  it('takes nothing of a limit of requests, and is 429 while the account is beyond it [estimate-5]', async () => {
    const api = await openStoredApi(database.pool)
    await setLimits(database.pool, api.name, { requests: { limit: 2, period: 'hour' } })
    for (const prompt of 'abcde') await estimated(api, generateBody({ prompt }))
    for (const left of [1, 0]) {
      const answer = await api.postJson('/v1/images/tasks', generateBody())
      expect(answer.headers.get('ratelimit')).toContain(`r=${left};`)
    }
    const refused = await estimateOf(api, generateBody())
    expect([refused.status, (await errorOf(refused)).code]).toEqual([429, 'rate_limit_exceeded'])
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(1_700)
    expect(refused.headers.get('ratelimit')).toContain('r=0;')
  })

  it('ignores an Idempotency-Key, also a used or a wrong one [estimate-2]', async () => {
    const api = await openStoredApi(database.pool)
    await api.postJson('/v1/images/tasks', generateBody(), { 'Idempotency-Key': 'used' })
    for (const key of ['used', 'new', 'x'.repeat(300)]) {
      const answer = await estimateOf(api, generateBody({ prompt: 'Another' }), {
        'Idempotency-Key': key,
      })
      expect([answer.status, answer.headers.get('idempotent-replayed')]).toEqual([200, null])
    }
  })

  it.each([
    ['of a model that the account may not use', { models: [] }, {}, 403, 'access_denied'],
    [
      'of a size that the model lacks',
      {},
      { model: 'familya-2.5-flash-image', size: '4K' },
      400,
      'invalid_value',
    ],
  ])('%s has the answer of the submit [estimate-3]', async (_what, caller, given, status, code) => {
    const api = await openStoredApi(database.pool, caller)
    const [estimate, submit] = [
      await estimateOf(api, generateBody(given)),
      await api.postJson('/v1/images/tasks', generateBody(given)),
    ]
    expect([estimate.status, submit.status]).toEqual([status, status])
    const error = await errorOf(estimate)
    expect(error).toEqual(await errorOf(submit))
    expect(error.code).toBe(code)
  })

  it('expects the usual duration of the model, and the turns of what of the account waits for its family [estimate-6]', async () => {
    const api = await openStoredApi(database.pool)
    const family = models.filter((each) => each.family === 'B')
    const model = modelOf('familyb-image-2-vip')
    const seconds = async () =>
      (await estimated(api, generateBody({ model: model.id }))).expected_seconds
    const ten = Array.from({ length: 10 })
    const usual = model.usualDurationMs / 1_000
    expect(await seconds()).toBe(usual)
    for (const { id } of models) {
      await Promise.all(
        ten.map(() => api.postJson('/v1/images/tasks', generateBody({ model: id }))),
      )
    }
    // The channel of each family has 50 places.
    expect(await seconds()).toBe(Math.ceil(usual * (1 + (10 * family.length) / 50)))
  })
})
