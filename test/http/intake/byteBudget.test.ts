import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { requestTextBytesMax } from '../../../src/domain/limits.ts'
import { createByteBudget } from '../../../src/tasks/byteBudget.ts'
import { formBody, formType, generateBody } from '../../support/clients/requestBodies.ts'
import { errorResponse } from '../../support/clients/responses.ts'
import { editParts } from '../../support/clients/syncCalls.ts'
import { startTestApi } from '../../support/http/testApi.ts'

describe('a byte budget', () => {
  it('admits bodies in order of arrival, as room is given back', async () => {
    const budget = createByteBudget(10)
    const order: string[] = []
    expect(await budget.take('a', 6, 0)).toBe(true)
    const large = budget.take('b', 10, 1000).then(() => order.push('large'))
    const small = budget.take('c', 1, 1000).then(() => order.push('small'))
    await sleep(5)
    expect(order).toEqual([])
    budget.give('a', 6)
    await large
    expect(order).toEqual(['large'])
    budget.give('b', 10)
    await small
    expect(order).toEqual(['large', 'small'])
  })

  it('refuses a body that waited too long, and admits the next one', async () => {
    const budget = createByteBudget(10)
    await budget.take('a', 6, 0)
    const late = budget.take('b', 5, 10)
    const next = budget.take('c', 4, 1000)
    expect(await late).toBe(false)
    expect(await next).toBe(true)
  })

  it('counts a body larger than the budget as the whole budget', async () => {
    const budget = createByteBudget(10)
    expect(await budget.take('a', 99, 0)).toBe(true)
    expect(await budget.take('b', 1, 1)).toBe(false)
    budget.give('a', 99)
    expect(await budget.take('b', 10, 0)).toBe(true)
  })

  it('leaves a quarter to other accounts', async () => {
    const budget = createByteBudget(100)
    for (let bodies = 0; bodies < 3; bodies += 1) expect(await budget.take('a', 25, 0)).toBe(true)
    const fourth = budget.take('a', 25, 1000)
    expect(await budget.take('b', 25, 0)).toBe(true)
    budget.give('a', 25)
    expect(await fourth).toBe(true)
    for (let bodies = 0; bodies < 3; bodies += 1) budget.give('a', 25)
    budget.give('b', 25)
    expect(await budget.take('a', 100, 0)).toBe(true)
  })
})

// Spaces are no JSON: a body of them that was read is a 400.
describe('large bodies beyond the budget', () => {
  const mebibyte = 1024 * 1024
  const spaces = (mebibytes: number) => ' '.repeat(mebibytes * mebibyte)
  const limits = { ingressLimitBytes: 8 * mebibyte, largeBodiesBytesMax: 8 * mebibyte }
  const path = '/v1/images/tasks'
  const head = (line: string) =>
    `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer sk-a\r\nContent-Type: application/json\r\n${line}\r\n\r\n`

  it('keep no room for what they declare and do not send', async () => {
    const api = await startTestApi(limits)
    const silent = Array.from({ length: 6 }, () => connect(api.port, '127.0.0.1'))
    for (const socket of silent) socket.write(`${head(`Content-Length: ${8 * mebibyte}`)} `)
    await sleep(50)
    for (const key of ['sk-a', 'sk-b']) {
      const large = await api.postJson(path, spaces(7), { Authorization: `Bearer ${key}` })
      expect(large.status).toBe(400)
    }
    for (const socket of silent) socket.destroy()
    await api.close()
  })

  it('are refused with a Retry-After, while small requests pass, until room is free again', async () => {
    const api = await startTestApi(limits)
    const connection = once(api.server, 'connection')
    const slow = connect(api.port, '127.0.0.1')
    slow.write(head(`Content-Length: ${6 * mebibyte}`) + spaces(6).slice(1))
    // The server reads on only while the body has room, so only a few hundred KiB are not counted at that moment.
    const received = async () => (await connection)[0].bytesRead
    await expect.poll(received).toBeGreaterThanOrEqual(6 * mebibyte)
    const [refused, chunked, small] = await Promise.all([
      api.postJson(path, spaces(4)),
      api.raw(
        `${head('Transfer-Encoding: chunked\r\nConnection: close')}400000\r\n${spaces(4)}\r\n0\r\n\r\n`,
      ),
      api.postJson(path, generateBody()),
    ])
    expect(small.status).toBe(202)
    expect(refused.status).toBe(429)
    expect(refused.headers.get('retry-after')).toBe('5')
    expect(errorResponse.parse(await refused.json()).error).toMatchObject({
      type: 'rate_limit_error',
      code: 'rate_limit_exceeded',
    })
    expect(chunked).toMatch(/^HTTP\/1.1 429 /)
    slow.destroy()
    await expect.poll(async () => (await api.postJson(path, spaces(4))).status).toBe(400)
    await api.close()
  })
})

describe('large texts beyond the budget', () => {
  const large = generateBody({ prompt: 'x'.repeat(requestTextBytesMax - 1024) })

  it('wait until the task of their account is accepted, while small requests and other accounts pass', async () => {
    const api = await startTestApi({ ingressLimitBytes: 2 * requestTextBytesMax })
    const post = async (body: unknown, secret = 'sk-a') => {
      const headers = { Authorization: `Bearer ${secret}` }
      return (await api.postJson('/v1/images/tasks', body, headers)).status
    }
    const reached = Promise.withResolvers<void>()
    const ended = Promise.withResolvers<void>()
    api.tasks.beforeAccept = () => {
      api.tasks.beforeAccept = undefined
      reached.resolve()
      return ended.promise
    }
    const first = post(large)
    await reached.promise
    const second = post(large)
    const form = editParts({ model: 'familyb-image-2-web', prompt: large.prompt.slice(0, 8e6) })
    const headers = { 'Content-Type': formType }
    const body = new Uint8Array(formBody(form))
    const edit = api.send('/v1/images/edits', { method: 'POST', headers, body })
    expect(await Promise.all([post(generateBody()), post(large, 'sk-b')])).toEqual([202, 202])
    await sleep(1_000)
    expect(api.tasks.accepted).toHaveLength(2)
    ended.resolve()
    expect(await Promise.all([first, second])).toEqual([202, 202])
    await expect.poll(() => api.tasks.accepted.length).toBe(5)
    await Promise.all([api.close(), edit.catch(() => undefined)])
  })

  it('give their room back when accepting fails', async () => {
    const api = await startTestApi({ ingressLimitBytes: 2 * requestTextBytesMax })
    const post = async () => (await api.postJson('/v1/images/tasks', large)).status
    api.tasks.beforeAccept = () => Promise.reject(new Error('database is gone'))
    expect([await post(), await post(), await post()]).toEqual([500, 500, 500])
    api.tasks.beforeAccept = undefined
    expect(await post()).toBe(202)
    await api.close()
  })
})
