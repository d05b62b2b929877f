import { describe, expect, it } from 'vitest'
import { errorResponse } from '../../support/clients/responses.ts'
import { useTestApi } from '../../support/http/testApi.ts'

const api = useTestApi()

async function acceptedTask(): Promise<string> {
  const body = { model: 'familyb-image-2-vip', action: 'generate', prompt: 'a lighthouse' }
  const response = await api.postJson('/v1/images/tasks', body)
  expect(response.status).toBe(202)
  return api.tasks.newestId()
}

const cancel = (taskId: string, init: RequestInit = {}, query = '') =>
  api.send(`/v1/tasks/${taskId}/cancel${query}`, { method: 'POST', ...init })

const json = (body: string) => ({ body, headers: { 'Content-Type': 'application/json' } })

describe('POST /v1/tasks/{task_id}/cancel', () => {
  it.each([
    ['without a body', {}],
    ['with an empty object', json('{}')],
  ])('answers with the cancelled record and no charge: %s', async (_what, init) => {
    const taskId = await acceptedTask()
    const response = await cancel(taskId, init)
    expect(response.status).toBe(200)
    expect(response.headers.get('x-credits-charged')).toBe('0')
    expect(response.headers.get('access-control-expose-headers')).toMatch(/\bX-Credits-Charged\b/)
    const record = await response.json()
    expect(record).toMatchObject({
      task_id: taskId,
      status: 'failed',
      error: { code: 'cancelled' },
    })
    expect(record).toEqual(await (await api.send(`/v1/tasks/${taskId}`)).json())
    const again = await cancel(taskId, init)
    expect([again.status, await again.json()]).toEqual([200, record])
    expect(again.headers.get('x-credits-charged')).toBe('0')
  })

  it.each([
    ['an unknown field', json('{"reason":"late"}'), '', 'unknown_parameter', 'reason'],
    ['an unknown parameter', {}, '?force=true', 'unknown_parameter', 'force'],
    ['a list', json('[]'), '', 'invalid_json', null],
    ['no JSON', json('{'), '', 'invalid_json', null],
    [
      'a form',
      { body: new URLSearchParams({ a: '1' }) },
      '',
      'unsupported_content_type',
      'Content-Type',
    ],
  ] as const)('refuses %s and leaves the task as it is', async (...row) => {
    const [, init, query, code, param] = row
    const taskId = await acceptedTask()
    const response = await cancel(taskId, init, query)
    expect(response.status).toBe(400)
    expect(errorResponse.parse(await response.json()).error).toMatchObject({ code, param })
    expect(await (await api.send(`/v1/tasks/${taskId}`)).json()).toMatchObject({ status: 'queued' })
  })

  it('answers the same 404 for an unknown task and a task of another account', async () => {
    const taskId = await acceptedTask()
    const foreign = { headers: { Authorization: 'Bearer sk-b' } }
    for (const response of [
      await cancel(`task_${'0'.repeat(32)}`),
      await cancel(taskId, foreign),
    ]) {
      expect(response.status).toBe(404)
      expect(errorResponse.parse(await response.json()).error.code).toBe('task_not_found')
    }
    expect(await (await api.send(`/v1/tasks/${taskId}`)).json()).toMatchObject({ status: 'queued' })
    const malformed = await cancel('task_1')
    expect(malformed.status).toBe(400)
    expect(errorResponse.parse(await malformed.json()).error.param).toBe('task_id')
  })

  it('answers 409 for a task that has an image, and says not to retry', async () => {
    const taskId = await acceptedTask()
    await api.tasks.succeed(taskId)
    const response = await cancel(taskId)
    expect(response.status).toBe(409)
    expect(response.headers.get('x-should-retry')).toBe('false')
    expect(response.headers.get('x-credits-charged')).toBeNull()
    expect(errorResponse.parse(await response.json()).error).toEqual({
      message: 'The task has already succeeded.',
      type: 'invalid_request_error',
      param: null,
      code: 'task_not_cancellable',
    })
  })

  it('has no other method', async () => {
    const response = await api.send(`/v1/tasks/${await acceptedTask()}/cancel`)
    expect(response.status).toBe(405)
    expect(response.headers.get('allow')).toBe('POST, OPTIONS')
  })
})
