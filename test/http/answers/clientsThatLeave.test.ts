import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeEach, expect, it } from 'vitest'
import { useTestApi } from '../../support/http/testApi.ts'

const api = useTestApi({ syncDeadlineMs: 20_000 })
beforeEach(() => api.tasks.cancelled.splice(0))

const path = '/v1/images/generations'
const body = { model: 'familyb-image-2-vip', prompt: 'a lighthouse' }

/** Makes two calls with one key, and waits until both wait for the task of the first. */
async function joined(key: string) {
  const headers = { 'Idempotency-Key': key }
  const first = api.postJson(path, body, headers)
  const taskId = await api.tasks.nextId()
  const second = api.postJson(path, body, headers)
  await expect.poll(() => api.tasks.waitersOf(taskId)).toBe(2)
  return { first, second, taskId }
}

const left = { code: 'cancelled', cause: 'client_left', workPossible: false } as const

it.each<[string, (taskId: string) => unknown]>([
  ['is cancelled because its client left', (taskId) => api.tasks.fail(taskId, left)],
  ['has no row', (taskId) => api.tasks.loseTask(taskId)],
])('a call that joined a task becomes a new task when the joined one %s', async (how, end) => {
  const { first, second, taskId } = await joined(how)
  api.tasks.freeKeys()
  const renewed = api.tasks.nextId()
  await end(taskId)
  expect((await first).status).toBe(500)
  const next = await renewed
  await api.tasks.succeed(next)
  const { status, headers } = await second
  expect(status).toBe(200)
  expect(headers.get('x-task-id')).toBe(next)
  expect(headers.get('idempotent-replayed')).toBe('false')
  expect(headers.get('location')).toMatch(new RegExp(`/v1/tasks/${next}$`))
})

it('a call that joined a task gets its failure while the key still names it', async () => {
  const { second, taskId } = await joined('cancelled each time')
  await api.tasks.fail(taskId, left)
  expect((await second).status).toBe(500)
  expect((await second).headers.get('x-task-id')).toBe(taskId)
})

it('a client that leaves cancels its task, unless another client waits for the task', async () => {
  const text = JSON.stringify(body)
  const openCall = () => {
    const socket = connect(api.port, '127.0.0.1')
    socket.write(
      `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer sk-a\r\nContent-Type: application/json\r\nContent-Length: ${text.length}\r\nIdempotency-Key: shared\r\n\r\n${text}`,
    )
    return socket
  }
  const first = openCall()
  const taskId = await api.tasks.nextId()
  const second = openCall()
  await expect.poll(() => api.tasks.waitersOf(taskId)).toBe(2)
  first.destroy()
  await expect.poll(() => api.tasks.waitersOf(taskId)).toBe(1)
  await sleep(50)
  expect(api.tasks.cancelled).toEqual([])
  second.destroy()
  await once(second, 'close')
  await expect.poll(() => api.tasks.cancelled).toEqual([taskId])
  await expect.poll(() => api.observed.at(-1)).toMatchObject({ status: 499, taskId })
})
