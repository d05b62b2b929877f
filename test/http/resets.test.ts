import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'

const source = new URL('../../src/http/server/server.ts', import.meta.url).href

/** Requests that one connection may carry. Node drops the next one. Ours has no such limit. */
const requestsMax = 100

/** A process of its own, so that an error that nobody hears ends it. */
const script = `
  import Koa from 'koa'
  import { Readable } from 'node:stream'
  import { createServer, listen } from '${source}'
  async function* endless() { for (;;) yield Buffer.alloc(65_536) }
  const app = new Koa()
  app.silent = true
  app.use(async (context) => {
    context.body = context.path === '/endless' ? Readable.from(endless()) : 'ok'
    if (context.path === '/silent') await new Promise(() => {})
  })
  const server = createServer(app)
  server.maxRequestsPerSocket = ${requestsMax}
  console.log(await listen(server, { host: '127.0.0.1', port: 0 }))`

let child: ChildProcess
let port: number
let errors: Promise<string>
beforeAll(async () => {
  const { stdout, stderr } = (child = spawn(process.execPath, [
    '--input-type=module',
    '--eval',
    script,
  ]))
  if (stdout === null || stderr === null) throw new Error('Bug: spawned without pipes')
  errors = text(stderr)
  port = Number(String((await once(stdout, 'data'))[0]))
  return () => child.kill('SIGKILL')
})

/** Opens a connection that stays open when the server ends it, and returns it with what arrives. */
async function open() {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => {})
  await once(socket, 'connect')
  return socket
}

/** Returns how the process answers twice, or what it wrote when it ended. */
async function alive(): Promise<unknown[]> {
  const ask = () => fetch(`http://127.0.0.1:${port}/`).then(({ status }) => status)
  return [await ask().catch(() => errors), await ask().catch(() => errors)]
}

const get = (path: string, ...lines: string[]) =>
  [`GET ${path} HTTP/1.1`, 'Host: x', ...lines, '', ''].join('\r\n')
const tunnel = 'CONNECT x:1 HTTP/1.1\r\nHost: x:1\r\n\r\n'
const upgrade = ['Connection: Upgrade', 'Upgrade: websocket']
const withBody = ['Content-Length: 9']

describe('a connection that is reset does not end the process', () => {
  describe.each([
    ['a tunnel (connect)', tunnel],
    ['a tunnel after a whole request', get('/') + tunnel],
    ['another protocol (upgrade)', get('/endless', ...upgrade)],
    ['no HTTP (clientError)', 'hello\r\n\r\n'],
    ['no HTTP after a request', `${get('/')}hello\r\n\r\n`],
    ['a body that may come (checkContinue)', get('/endless', 'Expect: 100-continue', ...withBody)],
    ['an expectation (checkExpectation)', get('/endless', 'Expect: x', ...withBody)],
    ['a request too many (dropRequest)', get('/').repeat(requestsMax + 1)],
    ['an endless answer', get('/endless')],
  ])('%s', (_what, bytes) => {
    it.each([
      ['with its last byte', bytes.length, false],
      ['before its last byte', bytes.length - 1, false],
      ['once there is an answer or an end', bytes.length, true],
    ])('%s', async (_when, length, waits) => {
      const socket = await open()
      await new Promise((resolve) => socket.write(bytes.slice(0, length), resolve))
      if (waits) await once(socket, 'readable')
      socket.resetAndDestroy()
      expect(await alive()).toEqual([200, 200])
    })
  })

  it('a tunnel and then bytes of it', async () => {
    const socket = await open()
    socket.write(tunnel)
    await once(socket.resume(), 'end')
    socket.write('more')
    socket.resetAndDestroy()
    expect(await alive()).toEqual([200, 200])
  })
})

it.each(['/silent', '/endless'])(
  'no refusal of a tunnel is taken for the answer to the request before it: %s',
  async (path) => {
    const socket = await open()
    let answer = ''
    socket.on('data', (chunk) => (answer = (answer + String(chunk)).slice(0, 1_000)))
    socket.write(get(path) + tunnel)
    await once(socket, 'end')
    expect(answer).not.toMatch(/405/)
  },
)
