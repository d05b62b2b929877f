import { beforeEach, describe, expect, it } from 'vitest'
import { generateBody } from '../../support/clients/requestBodies.ts'
import { shortErrorResponse, taskRecordResponse } from '../../support/clients/responses.ts'
import { familyBNative } from '../../support/http/fakeTasks.ts'
import { useTestApi } from '../../support/http/testApi.ts'
import { redPixelPng } from '../../support/images.ts'

const api = useTestApi()
let taskId: string
beforeEach(async () => {
  await (await api.postJson('/v1/images/tasks', generateBody())).text()
  taskId = api.tasks.newestId()
})

describe('a lookup', () => {
  const lookup = () => api.send(`/v1/tasks/${taskId}`)

  it('shows a task in progress, and when to ask again', async () => {
    api.tasks.runStage = { stage: 'waiting', untilMs: 1_700_000_900_000 }
    // Without a run, Temporal is not asked.
    expect((await lookup()).headers.get('retry-after')).toBe('3')
    api.tasks.change(taskId, { startedAtMs: 1_700_000_000_000 })
    const response = await lookup()
    api.tasks.runStage = undefined
    expect(response.headers.get('retry-after')).toBe('5')
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
    const response = await lookup()
    const record = taskRecordResponse.parse(await response.json())
    expect(record).toMatchObject({ status: 'succeeded', progress: 100 })
    const [asset] = record.output?.assets ?? []
    expect(asset?.url).toMatch(/^https:\/\/images\.example\.test\/v1\/assets\//)
    expect(record.result).toEqual({ ...familyBNative.response, data: [{ url: asset?.url }] })
    expect(response.headers.has('retry-after')).toBe(false)
  })

  it.each(['task_%00', '..%2f..'])(
    'refuses the malformed id %s in the short envelope',
    async (id) => {
      const response = await api.send(`/v1/task/${id}`)
      expect(response.status).toBe(400)
      expect(shortErrorResponse.parse(await response.json()).error.code).toBe('invalid_request')
    },
  )
})

describe('a result', () => {
  const result = (init?: RequestInit) => api.send(`/v1/tasks/${taskId}/result`, init)

  it('streams the native response with the image inside, and with its length', async () => {
    await api.tasks.succeed(taskId)
    const response = await result()
    const text = await response.text()
    const headed = await result({ method: 'HEAD' })
    for (const { headers } of [response, headed]) {
      expect(headers.get('content-length')).toBe(String(text.length))
    }
    expect(JSON.parse(text)).toEqual({
      ...familyBNative.response,
      data: [{ b64_json: redPixelPng.toString('base64') }],
    })
  })

  it('is a 409 before the end, a 409 after a failure, and a 404 once expired', async () => {
    const see = async () => {
      const response = await result()
      const { error } = shortErrorResponse.parse(await response.json())
      return [response.status, error.code, response.headers.get('x-should-retry')]
    }
    expect(await see()).toEqual([409, 'task_not_finished', 'false'])
    await api.tasks.fail(taskId, { code: 'upstream_error', cause: 'unknown', workPossible: true })
    expect(await see()).toEqual([409, 'task_failed', 'false'])
    await api.tasks.succeed(taskId)
    api.tasks.change(taskId, { nowMs: 1_700_086_460_000 })
    expect(await see()).toEqual([404, 'task_not_found', null])
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
