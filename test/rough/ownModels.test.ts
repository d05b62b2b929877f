import { join } from 'node:path'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import type { Client } from '../support/clients/client.ts'
import { createClient, errorOf } from '../support/clients/client.ts'
import { editBody, generateBody } from '../support/clients/requestBodies.ts'
import * as call from '../support/clients/syncCalls.ts'
import { assertLedgerVerifies, moneyOf } from '../support/database/money.ts'
import { darkroomJson, runDarkroom } from '../support/service/darkroomCli.ts'
import { simulatorFile, writeOperatorFile } from '../support/service/simulatorFile.ts'
import { startDarkroomProcess, startTestService } from '../support/service/testService.ts'
import { tempFolder } from '../support/tempFolder.ts'

// The models of an operator's file, from the file that brings them to those that retire and lose them again.

const [draft, print] = ['house-draft', 'house-print']
const models = [
  {
    name: draft,
    like: 'familya-3.1-flash-image',
    sizes: ['512', '1K', '2K'],
    aspect_ratios: ['1:1', '9:21'],
  },
  {
    name: print,
    like: 'familyb-image-2-vip',
    sizes: ['1024x1024', '1536x1024'],
    qualities: ['high', 'max'],
    actions: ['generate'],
  },
]
const prices = [
  { model: draft, size: '512', credits: 5 },
  { model: draft, size: '2K', credits: 30 },
  { model: draft, credits: 10, creditsPerInputImage: 1 },
  { model: print, quality: 'max', credits: 400 },
  { model: print, size: '1536x1024', credits: 90 },
  { model: print, credits: 60 },
]

const vendorNames: Readonly<Record<string, object>> = {
  A: { [draft]: 'vendor-draft' },
  B: { [print]: 'vendor-print' },
}

/** An operator's file. Of two channels for each family only the second takes its models. */
function fileOf(url: string, given: readonly object[]) {
  const { channels } = simulatorFile(url)
  const named = given.length === models.length ? vendorNames : {}
  const second = channels.map((channel) => ({
    ...channel,
    name: channel.name.replace('main', 'new'),
    models: named[channel.family],
  }))
  return { channels: [...channels, ...second], models: given, prices }
}

const folder = tempFolder(afterAll)
const service = await startTestService({ operatorFile: (url) => fileOf(url, models) })
afterAll(() => service.stop())

let files = 0
/** The variables of a process with an operator's file of these models. */
async function withModels(given: readonly object[], pricesOfModels: readonly object[] = prices) {
  const content = { ...fileOf(service.simulator.url, given), prices: pricesOfModels }
  const path = join(folder, `${(files += 1)}.json`)
  return { DARKROOM_CONFIG: await writeOperatorFile(path, content) }
}
const retired = await withModels(models.map((model) => ({ ...model, retired: true })))
const without = await withModels([])
const swapped = await withModels(
  [{ name: print, like: 'familya-3-pro-image' }],
  [{ model: print, credits: 1 }],
)

const { secret } = await service.account()
const client = createClient(service.url, secret)
/** A client of one more API, whose variables differ in this. */
const clientOf = async (changed: Readonly<Record<string, string>>) =>
  createClient((await service.startApi(changed)).url, secret)
const get = (path: string, { url, authorization }: Client = client) =>
  fetch(`${url}${path}`, { headers: { authorization } })
const cli = (...args: string[]) => darkroomJson<unknown>(args, service.environment)
const channelsOf = async (taskId: string) => {
  const { rows } = await service.pool.query<{ channel: string }>(
    'select channel from attempt where task_id = $1',
    [taskId],
  )
  return rows.map(({ channel }) => channel)
}
const contents = [{ role: 'user', parts: [{ text: 'A native fox' }] }]
const native = (model: string, operation: string, imageConfig: object) =>
  fetch(`${service.url}/v1beta/models/${model}:${operation}`, {
    method: 'POST',
    headers: { authorization: client.authorization, 'content-type': 'application/json' },
    body: JSON.stringify({ contents, generationConfig: { imageConfig } }),
  })

describe('a model of the operator', () => {
  it('is listed with its prices, is in the description, and may be the model of an account [ownmodel-1]', async () => {
    expect(await (await get(`/v1/models/${draft}`)).json()).toMatchObject({
      id: draft,
      family: 'A',
      actions: ['generate', 'edit'],
      sizes: ['512', '1K', '2K'],
      aspect_ratios: ['1:1', '9:21'],
      qualities: null,
      prices: [
        { size: '512', credits: 5 },
        { size: '2K', credits: 30 },
        { credits: 10, credits_per_input_image: 1 },
      ],
    })
    const listed: { data: { id: string }[] } = Object(await (await get('/v1/models')).json())
    expect(listed.data.slice(-2).map(({ id }) => id)).toEqual([draft, print])
    const { components } = Object(await (await get('/openapi.json')).json())
    const { model, size, aspect_ratio, quality } = components.schemas.TaskRequest.properties
    expect(model.enum).toEqual(expect.arrayContaining([draft, print, 'familya-3-pro-image']))
    expect(size.enum).toEqual(expect.arrayContaining(['512', '1536x1024', '4K']))
    expect(aspect_ratio.enum).toEqual(expect.arrayContaining(['9:21', '21:9']))
    expect(quality.enum).toEqual(expect.arrayContaining(['max', 'auto']))
    expect(components.schemas.GenerationsRequest.properties.model.enum).not.toContain(draft)
    await cli('account', 'create', 'of-draft', '--models', draft)
    const accounts = expect.arrayContaining([expect.objectContaining({ models: [draft] })])
    expect(await cli('account', 'list')).toEqual(accounts)
    const wrong = await runDarkroom(['account', 'models', 'of-draft', 'house'], service.environment)
    expect(wrong).toMatchObject({ exitCode: 1, stderr: expect.stringContaining(draft) })
  })

  const refunded = ['hold', 'settle', 'refund']
  const asA = (imageConfig: object) => ({ generationConfig: { imageConfig } })
  it.each([
    [
      draft,
      { size: '512', aspect_ratio: '9:21' },
      5,
      ['hold', 'settle'],
      asA({ imageSize: '512', aspectRatio: '9:21' }),
    ],
    [draft, { size: '2K' }, 30, refunded, asA({ imageSize: '2K' })],
    [draft, {}, 10, refunded, {}],
    [
      print,
      { size: '1536x1024', quality: 'max' },
      400,
      ['hold', 'settle'],
      { size: '1536x1024', quality: 'max' },
    ],
    [print, { size: '1536x1024' }, 90, refunded, { size: '1536x1024' }],
  ])(
    'is made at its price, on the channel that lists it alone: %s %j [ownmodel-1]',
    async (model, fields, credits, money, body) => {
      const prompt = `${model} ${JSON.stringify(fields)}`
      const answer = await client.submit(generateBody({ model, prompt, ...fields }))
      expect([answer.status, answer.headers.get('x-credits-held')]).toEqual([202, String(credits)])
      const { task_id: taskId } = Object(await answer.json())
      expect(await client.ended(taskId)).toMatchObject({ status: 'succeeded', model })
      expect(await moneyOf(service.pool, taskId)).toEqual(money)
      expect(await channelsOf(taskId)).toEqual([model === draft ? 'a-new' : 'b-new'])
      const [sent] = await service.simulator.calls({ prompt })
      expect(sent?.model).toBe(model === draft ? 'vendor-draft' : 'vendor-print')
      expect(sent?.body).toMatchObject(body)
    },
  )

  it('is made for who waits, by the routes of its family [ownmodel-1]', async () => {
    const b = await call.generate(client, { model: print, prompt: 'now', size: '1536x1024' })
    expect(b.status).toBe(200)
    const a = await native(draft, 'generateContent', { imageSize: '512', aspectRatio: '9:21' })
    expect(a.status).toBe(200)
    expect(await a.json()).toMatchObject({ modelVersion: draft })
    expect((await native(draft, 'asyncGenerateContent', { imageSize: '2K' })).status).toBe(202)
    const other = await native(print, 'generateContent', {})
    expect(await errorOf(other)).toMatchObject({ code: 'model_not_found' })
    const usage = await (await get('/v1/usage?group_by=model')).json()
    expect(JSON.stringify(usage)).toContain(`"model":"${print}"`)
  })

  it.each([
    [generateBody({ model: draft, size: '4K' }), 'size'],
    [generateBody({ model: draft, aspect_ratio: '16:9' }), 'aspect_ratio'],
    [generateBody({ model: print, size: '2048x2048' }), 'size'],
    [generateBody({ model: print, quality: 'low' }), 'quality'],
    [generateBody({ model: 'familyb-image-2-vip', quality: 'max' }), 'quality'],
    [generateBody({ model: 'familyb-image-2-vip', size: '1536x1024' }), 'size'],
    [editBody({ model: print }), 'action'],
  ])('refuses what the file does not give it: %j names %s [ownmodel-2]', async (body, param) => {
    const answer = await client.submit(body)
    expect(answer.status).toBe(400)
    expect(await errorOf(answer)).toMatchObject({ code: 'invalid_value', param })
  })
})

describe('a file without the model', () => {
  const key = { 'Idempotency-Key': 'ownmodel' }
  const body = generateBody({ model: print, prompt: 'again', quality: 'high' })

  it.each([
    ['that retires it', retired],
    ['that has lost it', without],
  ])(
    '%s refuses new tasks, and answers for those there are [ownmodel-4, ownmodel-6]',
    async (_what, file) => {
      const { task_id: taskId } = await client.accepted(body, key)
      await client.ended(taskId)
      const api = await service.startApi(file)
      const other = createClient(api.url, secret)
      const refused = await other.submit(generateBody({ model: print }))
      expect(refused.status).toBe(400)
      const { code, param, message } = await errorOf(refused)
      expect([code, param]).toEqual(['model_not_found', 'model'])
      expect(message).not.toContain(print)
      expect((await get(`/v1/models/${print}`, other)).status).toBe(404)
      expect(await other.accepted(body, key)).toMatchObject({ task_id: taskId })
      const changed = await other.submit({ ...body, quality: 'max' }, key)
      expect(await errorOf(changed)).toMatchObject({ code: 'idempotency_key_reused' })
      expect(await other.ended(taskId)).toMatchObject({ status: 'succeeded', model: print })
      expect((await get(`/v1/tasks/${taskId}/result`, other)).status).toBe(200)
      expect((await get('/v1/tasks', other)).status).toBe(200)
    },
  )

  it.each([
    ['that retires it', retired],
    ['that has lost it', without],
  ])('%s refuses a retry, which the one with it makes [ownmodel-6]', async (_what, file) => {
    const prompt = `not ${file.DARKROOM_CONFIG} [sim:moderation times=1]`
    const failing = generateBody({ model: print, prompt })
    const { task_id: taskId } = await client.accepted(failing)
    expect(await client.ended(taskId)).toMatchObject({ status: 'failed' })
    const retry = ['task', 'retry', taskId]
    const refused = await runDarkroom(retry, { ...service.environment, ...file })
    expect(refused).toMatchObject({
      exitCode: 1,
      stderr: expect.stringMatching(/its model is retired/),
    })
    const made = await cli(...retry)
    expect(await client.ended(String(Object(made).task_id))).toMatchObject({ model: print })
  })

  it('is rolled out beside a live task, and says at the start that it has lost its model [ownmodel-5]', async () => {
    const prompt = 'lost [sim:hold]'
    const { task_id: taskId } = await client.accepted(generateBody({ model: draft, prompt }))
    await service.simulator.waitForCalls(1, { prompt })
    const worker = await service.startWorker(without)
    expect(worker.output()).toContain(
      "live tasks of a model that the operator's file does not name",
    )
    expect(worker.output()).toContain('prices of a model that is not there')
    await service.simulator.release({ prompt })
    expect(await client.ended(taskId)).toMatchObject({ status: 'succeeded' })
  })

  it('lets its workers leave tasks of the model to others, and else to their deadline [ownmodel-5]', async () => {
    await service.workers[0]?.stop()
    const prompt = 'left'
    const waiting = call.generate(client, { model: print, prompt })
    const { task_id: taskId } = await client.accepted(generateBody({ model: draft, prompt }))
    const hasty = await clientOf({ TASK_DEADLINE_SECONDS: '3' })
    const late = await hasty.accepted(generateBody({ model: draft, prompt }))
    expect(await hasty.ended(late.task_id)).toMatchObject({ error: { code: 'upstream_error' } })
    expect(await moneyOf(service.pool, late.task_id)).toEqual(['hold', 'release'])
    const known = await client.accepted(generateBody())
    expect(await client.ended(known.task_id)).toMatchObject({ status: 'succeeded' })
    expect(await service.simulator.calls({ prompt })).toEqual([])
    await service.startWorker()
    expect(await client.ended(taskId)).toMatchObject({ status: 'succeeded' })
    expect((await waiting).status).toBe(200)
    await assertLedgerVerifies(service.pool)
  })

  it('that lists it in no channel says so at its start [ownmodel-5]', async () => {
    const { output } = await service.startApi(swapped)
    expect(output()).toContain('a model that no channel lists')
  })

  it('that makes the name like a model of another family concerns new tasks alone [ownmodel-7]', async () => {
    const { task_id: taskId } = await client.accepted(body, key)
    const other = await clientOf(swapped)
    expect(await other.accepted(body, key)).toMatchObject({ task_id: taskId })
    expect((await other.ended(taskId)).result).toHaveProperty('data')
  })
})

it.each([
  ['models[0].like', { name: draft, like: 'familyc-1' }],
  ['models[0]: no line of prices applies', { name: 'house-x', like: 'familyb-image-2-web' }],
])(
  'a file that is wrong ends the start with exit code 2 and its place: %s [ownmodel-3]',
  async (place, wrong) => {
    const changed = { ...(await withModels([wrong])), PORT: '0', INTERNAL_PORT: '0' }
    const given = { ...service.environment, ...changed }
    const started = startDarkroomProcess('api', tempFolder(onTestFinished), given)
    await expect(started).rejects.toThrow(/its start \(2\)/)
    await expect(started).rejects.toThrow(`json: ${place}`)
  },
)
