import { beforeEach, describe, expect, it, vi } from 'vitest'
import { errorResponse } from '../../support/clients/responses.ts'
import { familyANative } from '../../support/http/fakeTasks.ts'
import { useTestApi } from '../../support/http/testApi.ts'
import { redPixelPng } from '../../support/images.ts'

const api = useTestApi({ syncDeadlineMs: 400 })
beforeEach(() => api.tasks.cancelled.splice(0))

const path = '/v1/images/generations'
const body = { model: 'familyb-image-2-vip', prompt: 'a lighthouse' }
const contentPath = '/v1beta/models/familya-3-pro-image:generateContent'
const content = { contents: [{ parts: [{ text: 'a lighthouse' }] }] }

describe('a synchronous call', () => {
  it('answers with the image inside the native response when its task ends', async () => {
    const [response, taskId] = await Promise.all([
      api.postJson(path, body),
      api.tasks.nextId().then(async (taskId) => {
        await api.tasks.succeed(taskId)
        return taskId
      }),
    ])
    const text = await response.text()
    expect(response.status).toBe(200)
    expect(response.headers.get('x-task-id')).toBe(taskId)
    expect(response.headers.get('content-type')).toBe('application/json')
    expect(response.headers.get('content-length')).toBe(String(text.length))
    expect(JSON.parse(text)).toMatchObject({
      created: 5,
      data: [{ b64_json: redPixelPng.toString('base64') }],
    })
    expect(api.tasks.cancelled).toEqual([])
  })

  it('gets a 500 that it may repeat when a crash of PostgreSQL has lost its task', async () => {
    const [response] = await Promise.all([
      api.postJson(path, body),
      api.tasks.nextId().then(api.tasks.loseTask),
    ])
    expect(response.status).toBe(500)
    expect(response.headers.get('x-should-retry')).toBeNull()
    expect(response.headers.get('x-task-id')).toBeNull()
    expect(response.headers.get('location')).toBeNull()
    const { error } = errorResponse.parse(await response.json())
    expect(error).toMatchObject({ type: 'new_api_error', code: 'internal_error' })
    expect(String(api.reported.at(-1))).toContain('PostgreSQL has lost')
  })

  it('names the task at its deadline, and says not to retry', async () => {
    const [response, taskId] = await Promise.all([api.postJson(path, body), api.tasks.nextId()])
    expect(response.status).toBe(500)
    expect(response.headers.get('x-should-retry')).toBe('false')
    expect(response.headers.get('x-task-id')).toBe(taskId)
    expect(response.headers.get('location')).toBe(`https://images.example.test/v1/tasks/${taskId}`)
    const { error } = errorResponse.parse(await response.json())
    expect(error).toMatchObject({ type: 'new_api_error', code: 'generation_timeout' })
    expect(error.message).toContain(response.headers.get('x-request-id'))
    expect(api.tasks.cancelled).toEqual([])
  })

  it.each([
    [
      'rejected',
      { code: 'content_policy_violation', cause: 'rejected', workPossible: false },
      [400, 'invalid_request_error', 'moderation_blocked', null, null],
    ],
    [
      'refused',
      { code: 'rate_limit_exceeded', cause: 'refused', workPossible: false, retryAfterMs: 6_200 },
      [429, 'rate_limit_error', 'rate_limit_exceeded', '7', null],
    ],
    [
      'exhausted',
      { code: 'rate_limit_exceeded', cause: 'exhausted', workPossible: false },
      [429, 'rate_limit_error', 'rate_limit_exceeded', null, null],
    ],
    [
      'an operator fault',
      { code: 'upstream_error', cause: 'operator_fault', workPossible: false },
      [500, 'new_api_error', 'do_request_failed', null, null],
    ],
    [
      'unknown',
      { code: 'upstream_error', cause: 'unknown', workPossible: true },
      [500, 'new_api_error', 'do_request_failed', null, 'false'],
    ],
    [
      'cancelled because somebody asked for it',
      { code: 'cancelled', cause: 'cancelled', workPossible: false },
      [500, 'new_api_error', 'cancelled', null, 'false'],
    ],
    [
      'cancelled because a client left, where a new try is welcome',
      { code: 'cancelled', cause: 'client_left', workPossible: false },
      [500, 'new_api_error', 'cancelled', null, null],
    ],
    [
      'the deadline after refusals',
      { code: 'rate_limit_exceeded', cause: 'deadline', workPossible: false },
      [429, 'rate_limit_error', 'rate_limit_exceeded', null, null],
    ],
    [
      'the deadline after work',
      { code: 'generation_timeout', cause: 'deadline', workPossible: true },
      [500, 'new_api_error', 'generation_timeout', null, 'false'],
    ],
  ] as const)(
    'answers with the failure of its task: %s [answer-6]',
    async (_what, failure, expected) => {
      const [response] = await Promise.all([
        api.postJson(path, body),
        api.tasks.nextId().then((taskId) => api.tasks.fail(taskId, failure)),
      ])
      const { error } = errorResponse.parse(await response.json())
      const { headers } = response
      expect([
        response.status,
        error.type,
        error.code,
        headers.get('retry-after'),
        headers.get('x-should-retry'),
      ]).toEqual(expected)
    },
  )

  it.each([
    ['without a key', {}],
    ['with a key', { 'Idempotency-Key': 'charged' }],
  ])(
    'names the task and says not to retry when a charged image cannot be read: %s',
    async (_what, headers) => {
      vi.spyOn(api.blobs, 'read').mockRejectedValueOnce(new Error('disk is gone'))
      const [response, taskId] = await Promise.all([
        api.postJson(path, body, headers),
        api.tasks.nextId().then(async (taskId) => {
          await api.tasks.succeed(taskId)
          return taskId
        }),
      ])
      expect(response.status).toBe(500)
      expect(errorResponse.parse(await response.json()).error.code).toBe('internal_error')
      expect(response.headers.get('x-should-retry')).toBe('false')
      expect(response.headers.get('x-task-id')).toBe(taskId)
      expect(response.headers.get('location')).toMatch(new RegExp(`/v1/tasks/${taskId}$`))
    },
  )

  it('joins the task that its key names, and gets the same answer', async () => {
    const headers = { 'Idempotency-Key': 'join' }
    const first = api.postJson(path, body, headers)
    const taskId = await api.tasks.nextId()
    const second = api.postJson(path, body, headers)
    await new Promise((resolve) => setTimeout(resolve, 50))
    await api.tasks.succeed(taskId)
    const texts = [await (await first).text(), await (await second).text()]
    expect(texts[1]).toBe(texts[0])
    expect((await second).headers.get('idempotent-replayed')).toBe('true')
    const third = await api.postJson(path, body, headers)
    expect(await third.text()).toBe(texts[0])
  })
})

describe('a key whose image has expired', () => {
  it.each([
    ['family B', path, body, undefined],
    ['family A', contentPath, content, familyANative],
  ] as const)(
    'is a 404 that asks for a new key, in the full envelope: %s [sync-11]',
    async (name, route, request, native) => {
      const headers = { 'Idempotency-Key': `expired ${name}` }
      const [first, taskId] = await Promise.all([
        api.postJson(route, request, headers),
        api.tasks.nextId().then(async (taskId) => {
          await api.tasks.succeed(taskId, native)
          return taskId
        }),
      ])
      expect(first.status).toBe(200)
      await first.text()
      api.tasks.change(taskId, { nowMs: 1_700_086_460_000 })
      const response = await api.postJson(route, request, headers)
      expect(response.status).toBe(404)
      expect(errorResponse.parse(await response.json()).error).toEqual({
        message: 'The image of this Idempotency-Key has expired. A new request needs a new key.',
        type: 'invalid_request_error',
        param: null,
        code: 'result_expired',
      })
      expect(response.headers.get('x-should-retry')).toBe('false')
      expect(response.headers.get('idempotent-replayed')).toBe('true')
      expect(response.headers.get('x-task-id')).toBe(taskId)
      expect(response.headers.get('location')).toMatch(new RegExp(`/v1/tasks/${taskId}$`))
    },
  )
})

describe('an image that is lost before it expires', () => {
  const losses: readonly (readonly [string, (taskId: string) => void])[] = [
    ['its native response', (taskId) => api.tasks.loseNative(taskId)],
    ['its bytes', () => api.blobs.content.clear()],
  ]

  it.each(losses)('is a 500 that is not to be retried: %s', async (what, lose) => {
    const headers = { 'Idempotency-Key': `lost ${what}` }
    const [first, taskId] = await Promise.all([
      api.postJson(path, body, headers),
      api.tasks.nextId().then(async (id) => {
        await api.tasks.succeed(id)
        return id
      }),
    ])
    await first.text()
    lose(taskId)
    const result = `/v1/tasks/${taskId}/result`
    for (const response of [await api.postJson(path, body, headers), await api.send(result)]) {
      expect(response.status).toBe(500)
      expect(response.headers.get('x-should-retry')).toBe('false')
      expect(await response.json()).toMatchObject({ error: { code: 'internal_error' } })
      expect(String(api.reported.at(-1))).toMatch(`of ${taskId} is missing`)
    }
  })
})
