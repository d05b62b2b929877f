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

it('a cancel takes an empty object and names a malformed id', async () => {
  const done = await cancel(await acceptedTask(), json('{}'))
  expect([done.status, done.headers.get('x-credits-charged')]).toEqual([200, '0'])
  const malformed = await cancel('task_1')
  expect(malformed.status).toBe(400)
  expect(errorResponse.parse(await malformed.json()).error.param).toBe('task_id')
})
