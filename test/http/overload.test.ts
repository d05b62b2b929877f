import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createByteBudget } from '../../src/http/intake/byteBudget.ts'
import { readRequest } from '../../src/http/intake/body.ts'
import { errorResponse } from '../support/clients/responses.ts'
import { collect } from '../support/byteStreams.ts'
import { portOf } from '../support/upstream/testServers.ts'
import { startTestApi } from '../support/http/testApi.ts'

describe('a byte budget', () => {
  it('admits in turn, as room is given back', async () => {
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

  it('turns away who waited long enough, and lets the next one in', async () => {
    const budget = createByteBudget(10)
    await budget.take('a', 6, 0)
    const late = budget.take('b', 5, 10)
    const next = budget.take('c', 4, 1000)
    expect(await late).toBe(false)
    expect(await next).toBe(true)
  })

  it('counts more than the whole as the whole', async () => {
    const budget = createByteBudget(10)
    expect(await budget.take('a', 99, 0)).toBe(true)
    expect(await budget.take('b', 1, 1)).toBe(false)
    budget.give('a', 99)
    expect(await budget.take('b', 10, 0)).toBe(true)
  })

  it('leaves a quarter to the others, whoever asks for how much', async () => {
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

describe('too many large bodies at once', () => {
  const mebibyte = 1024 * 1024

  it('are told to come back, while small requests pass and room is found again', async () => {
    const api = await startTestApi({
      ingressLimitBytes: 8 * mebibyte,
      largeBodiesBytesMax: 8 * mebibyte,
    })
    const slow = connect(api.port, '127.0.0.1')
    slow.write(
      `POST /v1/images/tasks HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer sk-a\r\nContent-Type: application/json\r\nContent-Length: ${6 * mebibyte}\r\n\r\n{`,
    )
    await sleep(50)
    const large = ' '.repeat(4 * mebibyte)
    const prompt = { model: 'familyb-image-2-vip', action: 'generate', prompt: 'x' }
    const [refused, chunked, small] = await Promise.all([
      api.postJson('/v1/images/tasks', large),
      api.raw(
        `POST /v1/images/tasks HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer sk-a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n400000\r\n${large}\r\n0\r\n\r\n`,
      ),
      api.postJson('/v1/images/tasks', prompt),
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
    await expect.poll(async () => (await api.postJson('/v1/images/tasks', large)).status).toBe(400)
    await api.close()
  })
})

describe('a request that falls behind', () => {
  const pace = { idleMs: 200, graceMs: 400, bytesPerSecondMin: 1_000 }

  /** What is read, or why it was given up, of a body sent in chunks of 50 bytes. */
  async function sent(chunks: number, everyMs: number): Promise<string> {
    const server = createServer((request, response) => {
      collect(readRequest(request, pace)).then(
        (bytes) => response.end(`${bytes.length} bytes`),
        (error: unknown) => response.end(String(error)),
      )
    })
    const socket = connect(await portOf(server), '127.0.0.1')
    onTestFinished(() => {
      socket.destroy()
      server.close()
    })
    socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n')
    const answer = once(socket, 'data')
    for (let chunk = 0; chunk < chunks && socket.writable; chunk += 1) {
      socket.write('x'.repeat(50))
      await sleep(everyMs)
    }
    return String((await answer)[0])
  }

  it('is given up when nothing comes, and can still be answered', async () => {
    expect(await sent(1, 0)).toContain('stalled')
  })

  it('is given up when it drips', async () => {
    expect(await sent(20, 100)).toContain('stalled')
  })

  it('is read when it is slow and keeps up', async () => {
    expect(await sent(20, 30)).toContain('1000 bytes')
  })
})
