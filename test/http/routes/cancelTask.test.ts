import { expect, it } from 'vitest'
import { generateBody } from '../../support/clients/requestBodies.ts'
import { errorResponse } from '../../support/clients/responses.ts'
import { useTestApi } from '../../support/http/testApi.ts'

const api = useTestApi()

async function acceptedTask(): Promise<string> {
  expect((await api.postJson('/v1/images/tasks', generateBody())).status).toBe(202)
  return api.tasks.newestId()
}

const cancel = (taskId: string, init: RequestInit = {}, query = '') =>
  api.send(`/v1/tasks/${taskId}/cancel${query}`, { method: 'POST', ...init })
const json = (body: string) => ({ body, headers: { 'Content-Type': 'application/json' } })

it('a cancel with an empty object answers with the cancelled record and no charge', async () => {
  const taskId = await acceptedTask()
  const response = await cancel(taskId, json('{}'))
  expect(response.status).toBe(200)
  expect(response.headers.get('x-credits-charged')).toBe('0')
  expect(response.headers.get('access-control-expose-headers')).toMatch(/\bX-Credits-Charged\b/)
  const record = await response.json()
  expect(record).toMatchObject({ task_id: taskId, error: { code: 'cancelled' } })
  expect(record).toEqual(await (await api.send(`/v1/tasks/${taskId}`)).json())
})

it.each<readonly [string, RequestInit, string, string, string | null]>([
  ['an unknown field', json('{"reason":"late"}'), '', 'unknown_parameter', 'reason'],
  ['an unknown parameter', {}, '?force=true', 'unknown_parameter', 'force'],
  ['a list', json('[]'), '', 'invalid_json', null],
  ['no JSON', json('{'), '', 'invalid_json', null],
  ['a form', { body: new URLSearchParams('a=1') }, '', 'unsupported_content_type', 'Content-Type'],
])('a cancel refuses %s and leaves the task as it is', async (_what, init, query, code, param) => {
  const taskId = await acceptedTask()
  const response = await cancel(taskId, init, query)
  expect(response.status).toBe(400)
  expect(errorResponse.parse(await response.json()).error).toMatchObject({ code, param })
  expect(await (await api.send(`/v1/tasks/${taskId}`)).json()).toMatchObject({ status: 'queued' })
})

it('a cancel names a malformed id, and says not to retry when the task has an image', async () => {
  const malformed = await cancel('task_1')
  expect(malformed.status).toBe(400)
  expect(errorResponse.parse(await malformed.json()).error.param).toBe('task_id')
  const taskId = await acceptedTask()
  await api.tasks.succeed(taskId)
  const late = await cancel(taskId)
  expect(late.status).toBe(409)
  expect(late.headers.get('x-should-retry')).toBe('false')
  expect(late.headers.get('x-credits-charged')).toBeNull()
  expect(errorResponse.parse(await late.json()).error.code).toBe('task_not_cancellable')
})
