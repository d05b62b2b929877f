import { beforeEach, describe, expect, it } from 'vitest'
import {
  errorResponse,
  shortErrorResponse,
  taskRecordResponse,
} from '../../support/clients/responses.ts'
import { familyBNative } from '../../support/http/fakeTasks.ts'
import { useTestApi } from '../../support/http/testApi.ts'
import { redPixelPng } from '../../support/images.ts'

const api = useTestApi()
let taskId: string
beforeEach(async () => {
  const body = { model: 'familyb-image-2-vip', action: 'generate', prompt: 'a lighthouse' }
  const response = await api.postJson('/v1/images/tasks', body)
  const accepted: unknown = await response.json()
  taskId = String(Reflect.get(Object(accepted), 'task_id'))
})

const paths = ['/v1/task', '/v1/tasks']

describe.each(paths)('the lookup at %s', (path) => {
  it('shows a task in progress, and when to ask again', async () => {
    api.tasks.runStage = { stage: 'waiting', untilMs: 1_700_000_900_000 }
    // Without a run, Temporal is not asked.
    const withoutRun = await api.send(`${path}/${taskId}`)
    expect(withoutRun.headers.get('retry-after')).toBe('3')
    await withoutRun.body?.cancel()
    api.tasks.change(taskId, { startedAtMs: 1_700_000_000_000 })
    const response = await api.send(`${path}/${taskId}`)
    api.tasks.runStage = undefined
    expect(response.status).toBe(200)
    expect(response.headers.get('retry-after')).toBe('5')
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(await response.json()).toEqual({
      task_id: taskId,
      model: 'familyb-image-2-vip',
      status: 'queued',
      created_at: '2023-11-14T22:13:20Z',
      progress: 0,
    })
  })

  it('shows a finished task with its asset and its native result by URL', async () => {
    await api.tasks.succeed(taskId)
    const response = await api.send(`${path}/${taskId}`)
    const record = taskRecordResponse.parse(await response.json())
    expect(record).toMatchObject({ status: 'succeeded', progress: 100 })
    const [asset] = record.output?.assets ?? []
    expect(asset?.url).toMatch(/^https:\/\/images\.example\.test\/v1\/assets\//)
    expect(record.result).toEqual({ ...familyBNative.response, data: [{ url: asset?.url }] })
    expect(response.headers.has('retry-after')).toBe(false)
  })

  it('gives the same answer for the task of another account and for an unknown id', async () => {
    const headers = { Authorization: 'Bearer sk-b' }
    const foreign = await api.send(`${path}/${taskId}`, { headers })
    const unknown = await api.send(`${path}/task_${'z'.repeat(32)}`, { headers })
    expect(foreign.status).toBe(404)
    expect(unknown.status).toBe(404)
    const text = await foreign.text()
    expect(await unknown.text()).toBe(text)
    expect(JSON.parse(text)).toEqual({
      error: { code: 'task_not_found', message: 'There is no such task.' },
    })
    expect(Object.keys(Object.fromEntries(foreign.headers))).toEqual(
      Object.keys(Object.fromEntries(unknown.headers)),
    )
  })

  it.each([
    'x',
    'task_',
    `task_${'a'.repeat(31)}`,
    `task_${'a'.repeat(33)}`,
    'task_%00',
    '..%2f..',
  ])('refuses the malformed id %s in the short envelope', async (id) => {
    const response = await api.send(`${path}/${id}`)
    expect(response.status).toBe(400)
    const { error } = shortErrorResponse.parse(await response.json())
    expect(error.code).toBe('invalid_request')
  })

  it('asks for an API key, in the short envelope', async () => {
    const response = await api.send(`${path}/${taskId}`, { headers: { Authorization: 'Basic x' } })
    expect(response.status).toBe(401)
    expect(shortErrorResponse.parse(await response.json()).error.code).toBe('invalid_api_key')
  })

  it('answers HEAD as GET without the body', async () => {
    const got = await api.send(`${path}/${taskId}`)
    const headed = await api.send(`${path}/${taskId}`, { method: 'HEAD' })
    expect(headed.status).toBe(200)
    expect(headed.headers.get('content-length')).toBe(got.headers.get('content-length'))
    expect(await headed.text()).toBe('')
  })
})

describe.each(paths)('the result at %s', (path) => {
  const result = (init?: RequestInit) => api.send(`${path}/${taskId}/result`, init)

  it('streams the native response with the image inside, and with its length', async () => {
    await api.tasks.succeed(taskId)
    const response = await result()
    const text = await response.text()
    expect(response.headers.get('content-length')).toBe(String(text.length))
    expect(JSON.parse(text)).toEqual({
      ...familyBNative.response,
      data: [{ b64_json: redPixelPng.toString('base64') }],
    })
    const headed = await result({ method: 'HEAD' })
    expect(headed.headers.get('content-length')).toBe(String(text.length))
  })

  it('is a 409 before the end, a 409 after a failure, and a 404 once expired [lookup-6]', async () => {
    const seen: unknown[] = []
    const see = async () => {
      const response = await result()
      const { error } = shortErrorResponse.parse(await response.json())
      seen.push([response.status, error.code, response.headers.get('x-should-retry')])
    }
    await see()
    const failure = { code: 'upstream_error', cause: 'unknown', workPossible: true } as const
    api.tasks.change(taskId, { status: 'failed', completedAtMs: 1_700_000_002_000, failure })
    await see()
    await api.tasks.succeed(taskId)
    api.tasks.change(taskId, { nowMs: 1_700_086_460_000 })
    await see()
    expect(seen).toEqual([
      [409, 'task_not_finished', 'false'],
      [409, 'task_failed', 'false'],
      [404, 'task_not_found', null],
    ])
  })

  it('is an honest error when its small image cannot be read to the end', async () => {
    await api.tasks.succeed(taskId)
    api.blobs.breakReadsAfter = 10
    const response = await result()
    api.blobs.breakReadsAfter = undefined
    expect(response.status).toBe(500)
    await expect.poll(() => String(api.reported.at(-1))).toContain('disk is gone')
  })

  it('is cut off when its large image cannot be read to the end', async () => {
    await api.tasks.succeed(taskId)
    for (const key of api.blobs.content.keys()) api.blobs.content.set(key, Buffer.alloc(100_000))
    api.blobs.breakReadsAfter = 90_000
    await expect(result().then((response) => response.text())).rejects.toThrow('terminated')
    api.blobs.breakReadsAfter = undefined
    await expect.poll(() => String(api.reported.at(-1))).toContain('disk is gone')
  })
})

it('uses the full envelope outside task lookups', async () => {
  const response = await api.send('/v1/nowhere?key=secret')
  expect(response.status).toBe(404)
  expect(errorResponse.parse(await response.json()).error).toEqual({
    message: 'Invalid URL (GET /v1/nowhere)',
    type: 'invalid_request_error',
    param: null,
    code: 'not_found',
  })
})
