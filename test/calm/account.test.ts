import { describe, expect, it } from 'vitest'
import { contractModels } from '../../src/domain/models/models.ts'
import { model as modelResponse, modelList } from '../../src/schema/answers/modelsAnswer.ts'
import OpenAI from 'openai'
import { until } from '../support/timing.ts'
import { createClient } from '../support/clients/client.ts'
import { editBody, generateBody, inputImage } from '../support/clients/requestBodies.ts'
import { content, generate } from '../support/clients/syncCalls.ts'
import { darkroomJson } from '../support/service/darkroomCli.ts'
import { calmService } from '../support/service/calmService.ts'

const service = await calmService()
const account = await service.account(1_000)

function get(
  path: string,
  { secret } = account,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(`${service.url}${path}`, {
    headers: { ...headers, Authorization: `Bearer ${secret}` },
  })
}

describe('GET /v1/account', () => {
  it('shows the account of the key and its credits [account-1]', async () => {
    const response = await get('/v1/account')
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({
      object: 'account',
      account_id: account.accountId,
      name: account.name,
      credits: { available: 1_000, held: 0, spent: 0 },
      models: null,
      limits: { requests: null, live_tasks: null },
    })
  })
})

describe('GET /v1/models', () => {
  it('lists every model in the form of OpenAI, with what it takes [account-2]', async () => {
    const response = await get('/v1/models')
    const { object, data } = modelList.parse(await response.json())
    expect(object).toBe('list')
    expect(data.map(({ id }) => id)).toEqual([...contractModels])
    const [a] = data
    expect(a).toMatchObject({ family: 'A', sizes: ['1K'], qualities: null, owned_by: 'darkroom' })
    expect(a?.aspect_ratios).toContain('16:9')
    expect(data.at(-1)).toMatchObject({
      family: 'B',
      actions: ['generate', 'edit'],
      aspect_ratios: null,
      qualities: ['low', 'medium', 'high', 'auto'],
    })
    const client = new OpenAI({ apiKey: account.secret, baseURL: `${service.url}/v1` })
    const listed = await client.models.list()
    expect(listed.data.map(({ id }) => id)).toEqual([...contractModels])
  })

  it.each([
    ['familyb-image-2-vip', { size: '2048x2048', quality: 'medium' }],
    ['familya-3.1-flash-image', {}],
  ])('shows the price that a submit holds: %s %j [account-4]', async (model, fields) => {
    const shown = modelResponse.parse(await (await get(`/v1/models/${model}`)).json())
    const price = shown.prices.find((entry) =>
      (['size', 'quality', 'action'] as const).every(
        (name) => entry[name] === undefined || entry[name] === Reflect.get(fields, name),
      ),
    )
    const client = createClient(service.url, (await service.account()).secret)
    const submit = await client.submit(generateBody({ model, ...fields }))
    expect(submit.headers.get('x-credits-held')).toBe(String(price?.credits))
    const edit = editBody({ model, ...fields, input_images: [inputImage(), inputImage()] })
    const held = Number((await client.submit(edit)).headers.get('x-credits-held'))
    expect(held).toBe((price?.credits ?? 0) + 2 * (price?.credits_per_input_image ?? 0))
  })

  it('hides models that the account may not use: they are the same 404 as unknown ones [account-1, account-3]', async () => {
    const models = ['familya-3-pro-image', 'familyb-image-2-web']
    const name = 'account-few-models'
    const create = ['account', 'create', name, '--models', models.join(',')]
    await darkroomJson(create, service.environment)
    const { secret } = await darkroomJson<{ secret: string }>(
      ['key', 'create', name],
      service.environment,
    )
    const only = { ...account, secret }
    expect(await (await get('/v1/account', only)).json()).toMatchObject({ name, models })
    const { data } = modelList.parse(await (await get('/v1/models', only)).json())
    expect(data.map(({ id }) => id)).toEqual(models)
    for (const id of ['familyb-image-2-vip', 'no-such-model', '%00', '%ff', '..%2fmodels']) {
      const response = await get(`/v1/models/${id}`, only)
      expect([id, response.status]).toEqual([id, 404])
      expect(await response.json()).toEqual({
        error: {
          message: 'There is no such model.',
          type: 'invalid_request_error',
          param: 'model',
          code: 'model_not_found',
        },
      })
    }
    expect((await get(`/v1/models/${models[0]}`, only)).status).toBe(200)
  })
})

describe('the headers about credits', () => {
  it('say what a submit holds, also when it is repeated with its key, and on the lookup of an ended task what it cost: 0 when it failed [account-5, account-6, account-8]', async () => {
    const client = createClient(service.url, (await service.account()).secret)
    const live = generateBody({ prompt: 'account live [sim:hold]', quality: 'low' })
    const key = { 'Idempotency-Key': 'held' }
    for (const replayed of ['false', 'true']) {
      const { headers } = await client.submit(live, key)
      expect(headers.get('idempotent-replayed')).toBe(replayed)
      expect(headers.get('x-credits-held')).toBe('6')
    }
    const { task_id: taskId } = await client.accepted(live, key)
    expect((await client.lookup(taskId)).headers.get('x-credits-charged')).toBeNull()
    await service.simulator.waitForCalls(1, { prompt: 'account live' })
    // The stage is asked for once a second.
    await until('the stage of the call', async () => {
      const { headers } = await client.lookup(taskId)
      return headers.get('x-task-stage') === 'calling' || undefined
    })
    await service.simulator.release({ prompt: 'account live' })
    const failed = await client.accepted(generateBody({ prompt: '[sim:moderation]' }))
    for (const [ended, charged] of [
      [taskId, '6'],
      [failed.task_id, '0'],
    ] as const) {
      await client.ended(ended)
      expect((await client.lookup(ended)).headers.get('x-credits-charged')).toBe(charged)
    }
  })

  it('say on a synchronous 200 what it cost, also when the model refused [account-7]', async () => {
    const { secret } = await service.account()
    const client = createClient(service.url, secret)
    const generated = await generate(client, { prompt: 'account generated' })
    expect([generated.status, generated.headers.get('x-credits-charged')]).toEqual([200, '211'])
    const parts = [{ text: 'account [sim:block reason=PROHIBITED_CONTENT]' }]
    const refused = await content(client, 'generateContent', { contents: [{ parts }] })
    expect([refused.status, refused.headers.get('x-credits-charged')]).toEqual([200, '0'])
  })

  it('may be read by scripts of other origins', async () => {
    const response = await get('/v1/account', account, { Origin: 'https://example.test' })
    const exposed = response.headers.get('access-control-expose-headers') ?? ''
    expect(exposed).toContain('X-Credits-Held')
    expect(exposed).toContain('X-Credits-Charged')
  })
})
