import { expect, it } from 'vitest'
import { generateBody } from '../../support/clients/requestBodies.ts'
import { errorResponse } from '../../support/clients/responses.ts'
import { useTestApi } from '../../support/http/testApi.ts'

const api = useTestApi()

async function acceptedTask(): Promise<string> {
  expect((await api.postJson('/v1/images/tasks', generateBody())).status).toBe(202)
  return api.tasks.newestId()
}

const cancel = (taskId: string, init: RequestInit = {}) =>
  api.send(`/v1/tasks/${taskId}/cancel`, { method: 'POST', ...init })
const json = (body: string) => ({ body, headers: { 'Content-Type': 'application/json' } })

it('a cancel takes an empty object and names a malformed id', async () => {
  const done = await cancel(await acceptedTask(), json('{}'))
  expect([done.status, done.headers.get('x-credits-charged')]).toEqual([200, '0'])
  const malformed = await cancel('task_1')
  expect(malformed.status).toBe(400)
  expect(errorResponse.parse(await malformed.json()).error.param).toBe('task_id')
})
