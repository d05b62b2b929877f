import { beforeEach, describe, expect, it } from 'vitest'
import { generateBody } from '../../support/clients/requestBodies.ts'
import { shortErrorResponse } from '../../support/clients/responses.ts'
import { useTestApi } from '../../support/http/testApi.ts'

const api = useTestApi()
let taskId: string
beforeEach(async () => {
  await (await api.postJson('/v1/images/tasks', generateBody())).text()
  taskId = api.tasks.newestId()
})

it.each(['task_%00', '..%2f..'])('a lookup refuses the malformed id %s', async (id) => {
  const response = await api.send(`/v1/task/${id}`)
  expect(response.status).toBe(400)
  expect(shortErrorResponse.parse(await response.json()).error.code).toBe('invalid_request')
})

describe('a result', () => {
  const result = () => api.send(`/v1/tasks/${taskId}/result`)

  it('is a 409 before the end, a 409 after a failure, and a 404 once expired [lookup-6]', async () => {
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

  it('is cut off when its image cannot be read to the end', async () => {
    await api.tasks.succeed(taskId)
    for (const key of api.blobs.content.keys()) api.blobs.content.set(key, Buffer.alloc(100_000))
    api.blobs.breakReadsAfter = 90_000
    await expect(result().then((response) => response.text())).rejects.toThrow('terminated')
    api.blobs.breakReadsAfter = undefined
    await expect.poll(() => String(api.reported.at(-1))).toContain('disk is gone')
  })
})
