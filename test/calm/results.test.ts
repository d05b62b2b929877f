import sharp from 'sharp'
import { beforeAll, describe, expect, it } from 'vitest'
import { contractModels } from '../../src/domain/models/models.ts'
import type { Submitted, TaskRecord } from '../support/clients/client.ts'
import { createClient } from '../support/clients/client.ts'
import { editBody, generateBody } from '../support/clients/requestBodies.ts'
import { nativeImages } from '../support/clients/responses.ts'
import { moneyOf } from '../support/database/money.ts'
import { calmService } from '../support/service/calmService.ts'
import { modelOf } from '../support/models.ts'

const service = await calmService()
const client = createClient(service.url, (await service.account()).secret)

const isoSeconds = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/

async function bytesAt(url: string, headers: Record<string, string> = {}): Promise<Buffer> {
  const answer = await fetch(url, { headers })
  expect(answer.status).toBe(200)
  return Buffer.from(await answer.arrayBuffer())
}

function assetOf(record: TaskRecord) {
  const [asset, ...more] = record.output?.assets ?? []
  expect(more).toEqual([])
  if (asset === undefined) throw new Error(`${record.task_id} has no asset`)
  return asset
}

const cases = contractModels.flatMap((model) => [
  { model, action: 'generate', body: generateBody({ model }) },
  { model, action: 'edit', body: editBody({ model }) },
])

describe.each(cases)('$model $action [model-1, model-2]', ({ model, body }) => {
  let accepted: Submitted
  let headers: Headers
  let record: TaskRecord
  const seen: TaskRecord[] = []
  beforeAll(async () => {
    const answer = await client.submit(body)
    headers = answer.headers
    accepted = Object(await answer.json())
    record = await client.ended(accepted.task_id, { seen, everyMs: 100 })
  })

  it('is accepted as queued, with the creation time of its record [submit-1, submit-2, record-2]', () => {
    const { task_id, created_at } = accepted
    expect(accepted).toEqual({ task_id, status: 'queued', created_at })
    expect(headers.get('location')).toBe(`${service.url}/v1/tasks/${task_id}`)
    expect(headers.get('retry-after')).toBe('3')
    expect(Date.parse(record.created_at)).toBe(created_at * 1000)
  })

  it('succeeds with exactly the fields of a task record [record-1, record-2]', () => {
    const { url, mime_type } = assetOf(record)
    expect(record).toEqual({
      task_id: expect.stringMatching(/^task_[0-9A-Za-z]{32}$/),
      model,
      status: 'succeeded',
      created_at: expect.stringMatching(isoSeconds),
      progress: 100,
      completed_at: expect.stringMatching(isoSeconds),
      output: { assets: [{ type: 'image', url, mime_type }] },
      result: expect.any(Object),
    })
    for (const live of seen.slice(0, -1)) {
      const { task_id, created_at, status, progress } = live
      expect(live).toEqual({ task_id, model, status, created_at, progress })
    }
  })

  it('serves a decodable image at its URL without an authorization header [model-1, asset-1]', async () => {
    const { url, mime_type } = assetOf(record)
    const { format } = await sharp(await bytesAt(url)).metadata()
    expect(`image/${format}`).toBe(mime_type)
    expect(modelOf(model).family === 'A' || mime_type === 'image/png').toBe(true)
  })

  it('returns its native response with the image by URL, and at `/result` with the same bytes inline [record-7, lookup-5]', async () => {
    const { url, mime_type } = assetOf(record)
    const data = (await bytesAt(url)).toString('base64')
    const answer = await fetch(`${client.url}/v1/tasks/${record.task_id}/result`, {
      headers: { authorization: client.authorization },
    })
    expect(answer.headers.get('content-type')).toBe('application/json')
    const whole: unknown = await answer.json()
    const { find, byUrl, inside } = nativeImages[modelOf(model).family]
    const image = { url, mimeType: mime_type, data }
    expect(find(record.result)).toMatchObject(byUrl(image))
    expect(find(whole)).toMatchObject(inside(image))
  })

  it('is charged once [submit-4]', async () => {
    expect(await moneyOf(service.pool, record.task_id)).toEqual(['hold', 'settle'])
  })
})

describe('the options of a submit', () => {
  const a = 'familya-3-pro-image'
  const lite = 'familya-3.1-flash-lite-image'
  const b = 'familyb-image-2-web'
  const imageConfig = (config: object) => ({ generationConfig: { imageConfig: config } })
  it.each([
    [
      { model: a, size: '4K', aspect_ratio: '21:9' },
      imageConfig({ imageSize: '4K', aspectRatio: '21:9' }),
    ],
    [{ model: lite, size: '1K', aspect_ratio: '1:8' }, imageConfig({ aspectRatio: '1:8' })],
    [
      { model: b, size: '3840x2160', quality: 'high' },
      { size: '3840x2160', quality: 'high' },
    ],
    [
      { model: b, size: '2048x2048', quality: 'auto', n: 1 },
      { size: '2048x2048', quality: 'auto' },
    ],
  ])('reach the upstream: %j [task-11]', async (asked, sent) => {
    const prompt = `Results: as asked ${JSON.stringify(asked)}`
    const { task_id } = await client.accepted(generateBody({ ...asked, prompt }))
    expect((await client.ended(task_id)).status).toBe('succeeded')
    const bodies = (await service.simulator.calls({ prompt })).map(({ body }) => body)
    expect(bodies).toMatchObject([sent])
  })

  it('leave out quality for family A, which has none [task-10]', async () => {
    const prompt = 'Results: low or not'
    const { task_id } = await client.accepted(generateBody({ model: a, quality: 'low', prompt }))
    expect((await client.ended(task_id)).status).toBe('succeeded')
    expect(JSON.stringify((await service.simulator.calls({ prompt }))[0]?.body)).not.toContain(
      'quality',
    )
  })
})

describe('a task under way', () => {
  it('only moves forward in status and progress, and never changes after its end [record-3, record-4]', async () => {
    const model = 'familya-3.1-flash-lite-image'
    const seen: TaskRecord[] = []
    const prompt = 'Results: a slow one [sim:delay ms=2500]'
    const { task_id } = await client.accepted(generateBody({ model, prompt }))
    await client.ended(task_id, { seen, everyMs: 100 })
    const order = ['queued', 'processing', 'succeeded']
    const statuses = seen.map(({ status }) => order.indexOf(status))
    const progress = seen.map((record) => record.progress)
    expect(statuses).toEqual(statuses.toSorted((a, b) => a - b))
    expect(progress).toEqual(progress.toSorted((a, b) => a - b))
    expect(new Set(progress).size).toBeGreaterThan(3)
    expect(progress.slice(0, -1).every((percent) => percent <= 95)).toBe(true)
    const headers = { authorization: client.authorization }
    const later = await Promise.all(
      ['tasks', 'task', 'tasks'].map(async (segment) =>
        (await fetch(`${client.url}/v1/${segment}/${task_id}`, { headers })).json(),
      ),
    )
    expect(later).toEqual([seen.at(-1), seen.at(-1), seen.at(-1)])
  })
})
