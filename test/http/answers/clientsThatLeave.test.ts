import { once } from 'node:events'
import { connect } from 'node:net'
import { beforeEach, describe, expect, it } from 'vitest'
import { errorResponse } from '../../support/clients/responses.ts'
import { useTestApi } from '../../support/http/testApi.ts'

const api = useTestApi({ syncDeadlineMs: 20_000 })
beforeEach(() => api.tasks.cancelled.splice(0))

const path = '/v1/images/generations'
const body = { model: 'familyb-image-2-vip', prompt: 'a lighthouse' }

describe('a call that joined a task which is then cancelled', () => {
  const left = { code: 'cancelled', cause: 'client_left', workPossible: false } as const

  async function joined(key: string) {
    const headers = { 'Idempotency-Key': key }
    const first = api.postJson(path, body, headers)
    const taskId = await api.tasks.nextId()
    const second = api.postJson(path, body, headers)
    await expect.poll(() => api.tasks.waitersOf(taskId)).toBe(2)
    return { first, second, taskId }
  }

  it('becomes a new task when the client of the cancelled one has left [cancel-6]', async () => {
    const { first, second, taskId } = await joined('cancelled under it')
    api.tasks.freeKeys()
    const renewed = api.tasks.nextId()
    await api.tasks.fail(taskId, left)
    expect((await first).status).toBe(500)
    const next = await renewed
    await api.tasks.succeed(next)
    const { status, headers } = await second
    expect(status).toBe(200)
    expect(headers.get('x-task-id')).toBe(next)
    expect(headers.get('idempotent-replayed')).toBe('false')
    expect(headers.get('location')).toMatch(new RegExp(`/v1/tasks/${next}$`))
  })

  it('gets the failure for good when somebody asked for the cancel, even if the key is free', async () => {
    const { first, second, taskId } = await joined('cancelled for good')
    const count = api.tasks.accepted.length
    api.tasks.freeKeys()
    await api.tasks.fail(taskId, { ...left, cause: 'cancelled' })
    for (const response of [await first, await second]) {
      expect(response.status).toBe(500)
      expect(response.headers.get('x-task-id')).toBe(taskId)
      expect(response.headers.get('x-should-retry')).toBe('false')
      expect(errorResponse.parse(await response.json()).error.code).toBe('cancelled')
    }
    expect(api.tasks.accepted).toHaveLength(count)
  })

  it('gets the failure when its key still names the cancelled task', async () => {
    const { second, taskId } = await joined('cancelled each time')
    // The key is never freed.
    await api.tasks.fail(taskId, left)
    expect((await second).status).toBe(500)
    expect((await second).headers.get('x-task-id')).toBe(taskId)
  })
})

describe('a call that joined a task which then has no row', () => {
  it('becomes a new task, while the call that made the task says that it is lost', async () => {
    const headers = { 'Idempotency-Key': 'gone under it' }
    const first = api.postJson(path, body, headers)
    const taskId = await api.tasks.nextId()
    const second = api.postJson(path, body, headers)
    await expect.poll(() => api.tasks.waitersOf(taskId)).toBe(2)
    const renewed = api.tasks.nextId()
    api.tasks.loseTask(taskId)
    expect((await first).status).toBe(500)
    expect(api.reported.map(String)).toEqual([`Error: PostgreSQL has lost ${taskId}`])
    const next = await renewed
    await api.tasks.succeed(next)
    expect((await second).status).toBe(200)
    expect((await second).headers.get('x-task-id')).toBe(next)
  })
})

describe('a client that leaves', () => {
  function openCall(key: string) {
    const text = JSON.stringify(body)
    const socket = connect(api.port, '127.0.0.1')
    socket.write(
      `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer sk-a\r\nContent-Type: application/json\r\nContent-Length: ${text.length}\r\nIdempotency-Key: ${key}\r\n\r\n${text}`,
    )
    return socket
  }

  it('cancels its task', async () => {
    const socket = openCall('alone')
    const taskId = await api.tasks.nextId()
    expect(api.tasks.cancelled).toEqual([])
    socket.destroy()
    await expect.poll(() => api.tasks.cancelled).toEqual([taskId])
    await expect.poll(() => api.observed.at(-1)).toMatchObject({ status: 499, taskId })
  })

  it('does not cancel a task that another client waits for', async () => {
    const first = openCall('shared')
    const taskId = await api.tasks.nextId()
    const second = openCall('shared')
    await expect.poll(() => api.tasks.waitersOf(taskId)).toBe(2)
    first.destroy()
    await expect.poll(() => api.tasks.waitersOf(taskId)).toBe(1)
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(api.tasks.cancelled).toEqual([])
    await api.tasks.succeed(taskId)
    const [answer] = await once(second, 'data')
    expect(String(answer)).toMatch(/^HTTP\/1.1 200 /)
    second.destroy()
  })
})
