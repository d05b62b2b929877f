import Koa from 'koa'
import { once } from 'node:events'
import { connect } from 'node:net'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createServer, listen } from '../../src/http/server/server.ts'
import type { ApiState } from '../../src/http/requestState.ts'
import { errorResponse } from '../support/clients/responses.ts'
import { startTestApi, useTestApi } from '../support/http/testApi.ts'
import { portOf } from '../support/upstream/testServers.ts'

const api = useTestApi()

const key = 'Authorization: Bearer sk-a'
const body = JSON.stringify({ model: 'familyb-image-2-vip', action: 'generate', prompt: 'x' })

function head(lines: readonly string[], length: number = body.length): string {
  const all = [
    'POST /v1/images/tasks HTTP/1.1',
    'Host: x',
    'Content-Type: application/json',
    `Content-Length: ${length}`,
    ...lines,
  ]
  return `${all.join('\r\n')}\r\n\r\n`
}

/** Opens a connection, and returns it with a function that writes to it and returns what comes next. */
function open(port = api.port) {
  const socket = connect(port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => {})
  const ask = async (text: string): Promise<string> => {
    socket.write(text)
    const [answer] = await once(socket, 'data')
    return String(answer)
  }
  return { socket, ask }
}

const accepted = /^HTTP\/1.1 202 /

describe('a client that reads only when its whole body is sent', () => {
  it.each([
    ['and keeps its connection', []],
    ['and asks for the end of its connection, as urllib does', ['Connection: close']],
  ])('gets the answer that came early, %s', async (_what, lines) => {
    const { socket } = open()
    socket.pause()
    const bytes = 32 * 1024 * 1024
    socket.write(head([key, ...lines], bytes))
    const chunk = Buffer.alloc(1024 * 1024)
    for (let sent = 0; sent < bytes; sent += chunk.length) {
      if (!socket.write(chunk)) await once(socket, 'drain')
      await sleep(5)
    }
    const closed = once(socket, 'close')
    socket.resume()
    const [answer] = await once(socket, 'data')
    expect(String(answer)).toMatch(/^HTTP\/1.1 413 /)
    if (lines.length > 0) await closed
  })
})

describe('a client that does not read its answer', () => {
  const unreadMs = 1_000

  /** Starts a server that answers with `answer`, and returns a connection that has sent a request. */
  async function asking(answer: (context: Koa.Context) => Promise<void>) {
    const app = new Koa<ApiState>()
    app.silent = true
    app.use(answer)
    const server = createServer(app, { idleTimeoutMs: unreadMs })
    const { socket } = open(await portOf(server))
    onTestFinished(() => {
      server.closeAllConnections()
      server.close()
    })
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    return socket
  }

  it('is disconnected, and the content of its answer is closed', async () => {
    const ended = Promise.withResolvers<number>()
    const startedAt = performance.now()
    async function* endless(): AsyncGenerator<Uint8Array> {
      try {
        for (;;) yield Buffer.alloc(65_536)
      } finally {
        ended.resolve(performance.now() - startedAt)
      }
    }
    const socket = await asking(async (context) => {
      context.body = Readable.from(endless())
    })
    socket.pause()
    expect(await ended.promise).toBeGreaterThanOrEqual(unreadMs)
  })

  it('stays connected while it reads slowly, and while there is nothing to read', async () => {
    const bytes = 8 * 1024 * 1024
    const socket = await asking(async (context) => {
      await sleep(2 * unreadMs)
      context.set('Connection', 'close')
      context.body = Readable.from([Buffer.alloc(bytes)], { objectMode: false })
    })
    let received = 0
    for await (const chunk of socket) {
      received += Buffer.byteLength(chunk)
      await sleep(received < bytes / 2 ? 5 : 0)
    }
    expect(received).toBeGreaterThan(bytes)
  })
})

describe('a malformed request', () => {
  const plain = 'GET /healthz HTTP/1.1\r\nHost: x\r\n'
  const chunked = head([key, 'Transfer-Encoding: chunked']).replace(/Content-Length: .*\r\n/, '')
  it.each([
    ['not HTTP', 'hello\r\n\r\n', 400],
    ['length and chunks', `${plain}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n`, 400],
    ['NUL in a header', `${plain}X: a\0b\r\n\r\n`, 400],
    ['no path', 'GET http:// HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', 404],
    ['a tunnel', 'CONNECT x:1 HTTP/1.1\r\nHost: x:1\r\n\r\n', 405],
    [
      'an unknown expectation',
      `${plain.replace('healthz', 'none')}Expect: x\r\nConnection: close\r\n\r\n`,
      404,
    ],
    ['headers beyond 16 KiB', `${plain}X: ${'a'.repeat(17_000)}\r\n\r\n`, 431],
    ['a chunk without a size', `${chunked}zz\r\n`, 400],
  ])('is refused in the same envelope: %s', async (_what, bytes, status) => {
    const answer = await api.raw(bytes)
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
    errorResponse.parse(JSON.parse(answer.split('\r\n\r\n')[1] ?? ''))
    expect(answer).toMatch(/\r\nConnection: close\r\n/i)
  })

  it.each([
    ['after an answered request', true],
    ['together with the request before them', false],
  ])('may be bytes that are no request: %s', async (_when, waits) => {
    const { socket, ask } = open()
    let answers = ''
    socket.on('data', (chunk) => (answers += String(chunk)))
    const request = head([key]) + body
    if (waits) await ask(request)
    socket.write(`${waits ? '' : request}more than its length says`)
    await once(socket, 'close')
    expect(answers.match(/HTTP\/1.1 \d+/g)).toEqual(['HTTP/1.1 202', 'HTTP/1.1 400'])
  })
})

it('broken bytes take no memory while the answer before them is awaited, however many come', async () => {
  const answered = Promise.withResolvers<void>()
  const asked = Promise.withResolvers<Koa.Context>()
  const app = new Koa<ApiState>().use(async (context) => {
    asked.resolve(context)
    await answered.promise
  })
  const server = createServer(app)
  onTestFinished(() => void server.close())
  const { socket } = open(await portOf(server))
  socket.setNoDelay(true)
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  const { req, res } = await asked.promise
  const before = res.listenerCount('close')
  for (let packets = 0; packets < 10; packets += 1) {
    const seen = req.socket.bytesRead
    socket.write('no')
    await expect.poll(() => req.socket.bytesRead, { interval: 5 }).toBeGreaterThan(seen)
  }
  expect(res.listenerCount('close')).toBe(before + 1)
  answered.resolve()
  const [answers] = await once(socket, 'data')
  expect(String(answers)).toMatch(/^HTTP\/1.1 404 /)
})

it('a connection serves the next request after an early refusal', async () => {
  const { ask } = open()
  const long = 'x'.repeat(1024 * 1024)
  const refusal = await ask(head([key, 'Idempotency-Key:'], long.length) + long.slice(0, 5000))
  expect(refusal).toMatch(/^HTTP\/1.1 400 /)
  expect(await ask(long.slice(5000) + head([key]) + body)).toMatch(accepted)
})

it('a request that does not arrive in time is a 408', async () => {
  const own = await startTestApi()
  onTestFinished(() => own.close())
  Object.assign(own.server, { headersTimeout: 500, requestTimeout: 1_000 })
  // Node looks for such requests every five seconds.
  expect(await open(own.port).ask(`${head([key])}{`)).toMatch(/^HTTP\/1.1 408 /)
}, 30_000)

it('keeps idle connections longer than the longest silent answer, and longer than 75 seconds', () => {
  const keepAliveMs = (silentMsMax: number) =>
    createServer(new Koa<ApiState>(), { silentMsMax }).keepAliveTimeout
  expect(keepAliveMs(280_000)).toBe(340_000)
  expect(keepAliveMs(1_000)).toBe(75_000)
})

it('serves on when the system could not accept a connection', async () => {
  const server = createServer(new Koa<ApiState>())
  onTestFinished(() => void server.close())
  const port = await listen(server, { host: '127.0.0.1', port: 0 })
  server.emit('error', new Error('accept EMFILE'))
  expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(404)
})

it('closes soon after its last answer, although clients keep their connections open', async () => {
  const own = await startTestApi({ syncDeadlineMs: 200 })
  const sync = JSON.stringify({ model: 'familyb-image-2-vip', prompt: 'a lighthouse' })
  const { ask } = open(own.port)
  const answering = ask(head([key], sync.length).replace('/tasks', '/generations') + sync)
  await expect.poll(() => own.tasks.accepted.length).toBe(1)
  const closed = once(own.server, 'close')
  own.server.close()
  expect(await answering).toMatch(/^HTTP\/1.1 500 /)
  const answeredAt = performance.now()
  await closed
  expect(performance.now() - answeredAt).toBeLessThan(3_000)
})
