import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { useTestApi } from '../../support/http/testApi.ts'

const api = useTestApi({ syncDeadlineMs: 20_000 })

const path = '/v1/images/generations'
const body = { model: 'familyb-image-2-vip', prompt: 'a lighthouse' }

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
