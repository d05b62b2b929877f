import Koa from 'koa'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { ApiContext, ApiState } from '../../../src/http/requestState.ts'
import { createServer } from '../../../src/http/server/server.ts'
import { readBody } from '../../../src/http/intake/body.ts'
import { createByteBudget } from '../../../src/bytes/byteBudget.ts'
import { generateBody } from '../../support/clients/requestBodies.ts'
import { errorResponse } from '../../support/clients/responses.ts'
import type { TestApi } from '../../support/http/testApi.ts'
import { startTestApi } from '../../support/http/testApi.ts'
import { portOf } from '../../support/upstream/testServers.ts'

const mebibyte = 1024 * 1024
const path = '/v1/images/tasks'
const limits = { ingressLimitBytes: 8 * mebibyte, largeBodiesBytesMax: 8 * mebibyte }

async function open(changed: Parameters<typeof startTestApi>[0] = limits): Promise<TestApi> {
  const api = await startTestApi(changed)
  onTestFinished(() => api.close())
  return api
}

/** Opens a connection that sends the head of a submit. */
function submit({ port }: TestApi, line: string, secret = 'sk-a'): Socket {
  const socket = connect(port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => {})
  const type = 'Content-Type: application/json'
  const head = [`POST ${path} HTTP/1.1`, 'Host: x', `Authorization: Bearer ${secret}`, type, line]
  socket.write(`${head.join('\r\n')}\r\n\r\n`)
  return socket
}

const declaring = (bytes: number) => `Content-Length: ${bytes}`
const chunked = 'Transfer-Encoding: chunked'
const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`
// Spaces are no JSON: a body of them that was read is a 400.
const spaces = (bytes: number) => ' '.repeat(bytes)

async function statusOf(socket: Socket): Promise<number> {
  const [answer] = await once(socket, 'data')
  return Number(/^HTTP\/1.1 (\d+)/.exec(String(answer))?.[1])
}

function post(api: TestApi, body: Uint8Array | string, coding?: string, key = 'sk-a') {
  return api.send(path, {
    method: 'POST',
    body: typeof body === 'string' ? body : new Uint8Array(body),
    headers: {
      Authorization: `Bearer ${key}`,
      'Content-Type': 'application/json',
      ...(coding === undefined ? {} : { 'Content-Encoding': coding }),
    },
  })
}

describe('a body beyond the ingress limit', () => {
  const limit = 64 * 1024
  const text = JSON.stringify(generateBody())
  const padded = (bytes: number) => text + spaces(bytes - text.length)
  it('is refused to the byte: declared, in chunks and unpacked [error-413]', async () => {
    const api = await open({ ingressLimitBytes: limit })
    for (const [bytes, status] of [
      [limit, 202],
      [limit + 1, 413],
    ] as const) {
      const body = padded(bytes)
      expect((await post(api, body)).status).toBe(status)
      expect((await post(api, gzipSync(body), 'gzip')).status).toBe(status)
      const socket = submit(api, chunked)
      for (const half of [body.slice(0, 1000), body.slice(1000)]) socket.write(chunk(half))
      socket.write('0\r\n\r\n')
      expect(await statusOf(socket)).toBe(status)
    }
  })

  it('is a 413 before every error of its content, as it is sent and unpacked', async () => {
    const api = await open({ ingressLimitBytes: limit })
    const broken = ['not json', '\xff\xfe', '{"input_images":[{"data":"!"}]}'].map((text) =>
      Buffer.concat([Buffer.from(text, 'latin1'), Buffer.alloc(limit, ' ')]),
    )
    for (const body of broken) {
      const socket = submit(api, chunked)
      socket.write(chunk(body.toString('latin1')))
      expect(await statusOf(socket)).toBe(413)
      const unpacked = await post(api, brotliCompressSync(body), 'br')
      expect(unpacked.status).toBe(413)
      const { error } = errorResponse.parse(await unpacked.json())
      expect(error).toMatchObject({ param: '', code: 'read_request_body_failed' })
    }
  })
})

describe('large bodies that arrive slowly', () => {
  const submitSmall = async (api: TestApi) => {
    const startedAtMs = performance.now()
    const small = generateBody({ prompt: 'x'.repeat(10_000) })
    const answer = await api.postJson(path, small, { Authorization: 'Bearer sk-b' })
    return { status: answer.status, tookMs: performance.now() - startedAtMs }
  }

  it('delay no small request of others, whatever they declare, however many they are', async () => {
    const api = await open()
    await submitSmall(api)
    const slow = [
      ...[1, 2].map(() => submit(api, declaring(8 * mebibyte))),
      ...[1, 2].map(() => submit(api, chunked)),
      ...Array.from({ length: 32 }, () => submit(api, declaring(mebibyte))),
    ]
    const endsAtMs = performance.now() + 500
    while (performance.now() < endsAtMs) {
      for (const [i, socket] of slow.entries()) {
        socket.write(i === 2 || i === 3 ? chunk(spaces(16_384)) : spaces(16_384))
      }
      const { status, tookMs } = await submitSmall(api)
      expect(status).toBe(202)
      // A body that waits for room waits for 30 seconds. The machine may be busy.
      expect(tookMs).toBeLessThan(2_000)
      await sleep(20)
    }
  })

  /** The first takes most of the room, and the second waits for the rest of its own. */
  async function fill(api: TestApi) {
    const begin = async (declaredBytes: number, sentBytes: number, secret: string) => {
      const connection = once(api.server, 'connection')
      const socket = submit(api, declaring(declaredBytes), secret)
      const [served] = await connection
      socket.write(spaces(sentBytes))
      return { socket, readBytes: (): number => served.bytesRead }
    }
    const oldest = await begin(8 * mebibyte, 7 * mebibyte, 'sk-a')
    await expect.poll(oldest.readBytes).toBeGreaterThan(7 * mebibyte)
    const waiting = await begin(6 * mebibyte, 6 * mebibyte, 'sk-b')
    await expect.poll(waiting.readBytes).toBeGreaterThan(mebibyte)
    return { oldest: oldest.socket, waiting: waiting.socket, readBytes: waiting.readBytes }
  }

  it('wait without being read while others hold the room, and are read when it is free', async () => {
    const api = await open()
    const { oldest, waiting, readBytes } = await fill(api)
    await sleep(100)
    expect(readBytes()).toBeLessThan(3 * mebibyte)
    expect((await submitSmall(api)).status).toBe(202)
    oldest.destroy()
    expect(await statusOf(waiting)).toBe(400)
    expect(readBytes()).toBeGreaterThan(6 * mebibyte)
  })

  it('are refused with a Retry-After when they have waited for 30 seconds', async () => {
    const api = await open()
    vi.useFakeTimers({ toFake: ['setTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const { waiting } = await fill(api)
    const answer = once(waiting, 'data')
    vi.advanceTimersByTime(29_000)
    expect((await submitSmall(api)).status).toBe(202)
    vi.advanceTimersByTime(1_500)
    const [text] = await answer
    expect(String(text)).toMatch(/^HTTP\/1.1 429 /)
    expect(String(text)).toMatch(/\r\nRetry-After: 5\r\n/)
    expect(String(text)).toContain('"code":"rate_limit_exceeded"')
  })

  it('give all their room back when their clients leave while they wait', async () => {
    const api = await open()
    const { oldest, waiting } = await fill(api)
    const leaving = Array.from({ length: 10 }, () => submit(api, declaring(3 * mebibyte), 'sk-b'))
    for (const socket of leaving) socket.write(spaces(2 * mebibyte))
    await sleep(100)
    for (const socket of [...leaving, waiting]) socket.destroy()
    await sleep(50)
    oldest.destroy()
    // Four of each account fit at once, if nobody else holds room.
    const post = (key: string) =>
      api.postJson(path, spaces(mebibyte), { Authorization: `Bearer ${key}` })
    const answers = ['sk-a', 'sk-a', 'sk-a', 'sk-b', 'sk-b', 'sk-b'].map(post)
    const startedAtMs = performance.now()
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(Array(6).fill(400))
    expect(performance.now() - startedAtMs).toBeLessThan(5_000)
  })

  it('hold their room until their task is accepted', async () => {
    const api = await open()
    const large = JSON.stringify(generateBody()) + spaces(6 * mebibyte)
    const [reached, accepting] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    api.tasks.beforeAccept = () => {
      reached.resolve()
      return accepting.promise
    }
    const first = api.postJson(path, large)
    await reached.promise
    const second = submit(api, declaring(6 * mebibyte), 'sk-b')
    second.write(spaces(6 * mebibyte))
    const answered = statusOf(second)
    await sleep(200)
    expect(await Promise.race([answered, sleep(0, 'waiting')])).toBe('waiting')
    api.tasks.beforeAccept = undefined
    accepting.resolve()
    expect((await first).status).toBe(202)
    expect(await answered).toBe(400)
  })

  it('wait for room as they unpack', async () => {
    const api = await open()
    const { oldest } = await fill(api)
    const packed = post(api, gzipSync(spaces(3 * mebibyte)), 'gzip', 'sk-b').then(
      ({ status }) => status,
    )
    expect(await Promise.race([packed, sleep(200, 'waits')])).toBe('waits')
    oldest.destroy()
    expect(await packed).toBe(400)
  })
})

it('a body is given up when nothing arrives of it for a minute, and its request is answered', async () => {
  const budget = createByteBudget({ bytesMax: mebibyte, freeBytes: 1024 })
  const answer = async (context: ApiContext) => {
    const room = budget.open('a')
    const read = await readBody(context, { limitBytes: mebibyte, room })
    context.body = JSON.stringify(read)
  }
  const url = await listenKoa(answer, { idleTimeoutMs: 200 })
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 300\r\n\r\n')
  const answered = once(socket, 'data')
  for (let sent = 0; sent < 4; sent += 1) {
    socket.write('x'.repeat(50))
    await sleep(80)
  }
  expect(String((await answered)[0])).toContain('did not arrive in time')
})

it('a body that arrived before it was read, and takes room, is read to its last byte', async () => {
  const budget = createByteBudget({ bytesMax: mebibyte, freeBytes: 1024 })
  const url = await listenKoa(async (context) => {
    await sleep(100)
    const room = budget.open('a')
    const read = await readBody(context, { limitBytes: mebibyte, room })
    room.end()
    context.body = String(read.ok && read.value.length)
  })
  for (const bytes of [2_000, 5_000, 20_000, 70_000]) {
    const answer = await fetch(url, { method: 'POST', body: spaces(bytes) })
    expect(await answer.text()).toBe(String(bytes))
  }
})

/** Starts the HTTP server for the running test. It answers with `answer`. Returns its URL. */
async function listenKoa(
  answer: (context: ApiContext) => Promise<void>,
  options?: Parameters<typeof createServer>[1],
): Promise<string> {
  const app = new Koa<ApiState>()
  app.use(answer)
  const server = createServer(app, options)
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${await portOf(server)}`
}
