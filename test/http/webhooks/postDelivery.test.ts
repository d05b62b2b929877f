import { once } from 'node:events'
import type { Server } from 'node:http'
import { createServer } from 'node:http'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Post } from '../../../src/domain/ports/webhookStore.ts'
import { createPostDelivery } from '../../../src/http/webhooks/postDelivery.ts'
import type { Receiver } from '../../support/webhooks/receiver.ts'
import { startReceiver } from '../../support/webhooks/receiver.ts'
import { listenRaw, portOf } from '../../support/upstream/testServers.ts'
import { timed } from '../../support/timing.ts'

let receiver: Receiver
beforeEach(async () => {
  receiver = await startReceiver()
})
afterEach(() => receiver.close())

const secrets = ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=']
function postTo(url: string): Post {
  return { url, deliveryId: 'whd_1', body: '{"type":"webhook.test"}', secrets }
}

/** Resolves every name to the given addresses, one list after the other. */
function resolving(...answers: readonly (readonly string[])[]) {
  const asked: string[] = []
  const resolveHost = async (name: string) => {
    asked.push(name)
    return answers[Math.min(asked.length, answers.length) - 1] ?? []
  }
  return { asked, resolveHost }
}

const allow = createPostDelivery({ webhookPrivate: 'allow' })
const refuse = createPostDelivery({ webhookPrivate: 'refuse' })

describe('a delivery', () => {
  it.each([200, 204, 301, 302, 307, 308, 400, 404, 410, 500, 503])(
    'has the status %i of its answer and follows nothing [hook-13]',
    async (status) => {
      receiver.behave = (_request, response) =>
        response.writeHead(status, { location: `${receiver.url}/elsewhere` }).end('ignored')
      expect(await allow(postTo(`${receiver.url}/a?b=c`))).toEqual({ httpStatus: status })
      expect(receiver.received.map(({ path }) => path)).toEqual(['/a?b=c'])
    },
  )

  it('reads how long the receiver asks to wait', async () => {
    receiver.behave = (_request, response) =>
      response.writeHead(503, { 'retry-after': '120' }).end()
    expect(await allow(postTo(receiver.url))).toEqual({ httpStatus: 503, retryAfterMs: 120_000 })
    receiver.behave = (_request, response) =>
      response.writeHead(429, { 'retry-after': '999999999' }).end()
    expect(await allow(postTo(receiver.url))).toMatchObject({ retryAfterMs: 86_400_000 })
  })

  it('uses no proxy of the environment [hook-21]', async () => {
    for (const name of ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'ALL_PROXY']) {
      vi.stubEnv(name, 'http://127.0.0.1:9')
    }
    expect(await allow(postTo(receiver.url))).toEqual({ httpStatus: 200 })
    vi.unstubAllEnvs()
  })

  it('opens a connection of its own each time', async () => {
    for (let n = 0; n < 3; n += 1) await allow(postTo(receiver.url))
    const connections = receiver.received.map(({ headers }) => headers.connection)
    expect(connections).toEqual(['close', 'close', 'close'])
  })

  it('fails when nobody listens', async () => {
    expect(await allow(postTo('http://127.0.0.1:9/'))).toEqual({ error: 'connection_failed' })
  })

  it('fails when the connection is cut before the answer', async () => {
    const address = await listenRaw((socket) => socket.once('data', () => socket.destroy()))
    expect(await allow(postTo(`http://${address}/`))).toEqual({ error: 'connection_failed' })
  })

  it('fails when the certificate is not valid, or there is no TLS', async () => {
    expect(await allow(postTo(`https://127.0.0.1:${receiver.port}/`))).toEqual({
      error: 'tls_failed',
    })
    expect(receiver.received).toEqual([])
  })

  it.each([
    ['is no HTTP', 'SSH-2.0-OpenSSH_10\r\n\r\n'],
    ['has too large headers', `HTTP/1.1 200 OK\r\nx: ${'x'.repeat(32_768)}\r\n\r\n`],
    ['changes the protocol', 'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n'],
  ])('fails when the answer %s', async (_what, answer) => {
    const address = await listenRaw((socket) => socket.once('data', () => socket.write(answer)))
    const outcome = await allow(postTo(`http://${address}/`))
    expect(['answer_not_read', 'connection_failed']).toContain(outcome.error)
    expect(outcome.httpStatus).toBeUndefined()
  })
})

describe('the time of a delivery', () => {
  const quick = createPostDelivery({ webhookPrivate: 'allow', timeoutMs: 700 })

  it.each([
    ['never answers', () => {}],
    ['sends its headers byte by byte', drip('HTTP/1.1 200 OK\r\n' + 'x'.repeat(1_000))],
    ['sends interim answers for ever', drip('HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(500), 28)],
  ])('ends when the receiver %s [hook-14]', async (_what, serve) => {
    const address = await listenRaw((socket) => socket.once('data', () => serve(socket)))
    const tookMs = await timed(async () =>
      expect(await quick(postTo(`http://${address}/`))).toEqual({ error: 'timeout' }),
    )
    expect(tookMs).toBeLessThan(3_000)
  })

  it('ends when a name server does not answer', async () => {
    const stuck = createPostDelivery({
      webhookPrivate: 'allow',
      timeoutMs: 300,
      resolveHost: () => new Promise(() => {}),
    })
    expect(await stuck(postTo('http://slow.example/'))).toEqual({ error: 'timeout' })
  })

  it.each([
    ['that is endless', 'x'.repeat(65_536), 1],
    ['that never comes', '', 1_000],
  ])('does not wait for a body %s: the status counts [hook-14]', async (_what, chunk, everyMs) => {
    receiver.behave = (_request, response) => {
      response.writeHead(200, { 'content-length': '1000000000' })
      response.flushHeaders()
      const timer = setInterval(() => response.write(chunk), everyMs)
      response.once('close', () => clearInterval(timer))
    }
    const tookMs = await timed(async () =>
      expect(await allow(postTo(receiver.url))).toEqual({ httpStatus: 200 }),
    )
    expect(tookMs).toBeLessThan(3_000)
  })
})

/** Writes a text in small pieces, for ever. */
function drip(text: string, bytes = 1) {
  return (socket: {
    write: (text: string) => unknown
    once: (e: 'close', f: () => void) => void
  }) => {
    let at = 0
    const timer = setInterval(() => {
      socket.write(text.slice(at, at + bytes))
      at = (at + bytes) % text.length
    }, 10)
    socket.once('close', () => clearInterval(timer))
  }
}

describe('an address that webhooks may not reach', () => {
  it.each([
    'http://127.0.0.1:PORT/',
    'https://127.0.0.1:PORT/',
    'https://127.1:PORT/',
    'https://2130706433:PORT/',
    'https://0x7f000001:PORT/',
    'https://0177.0.0.1:PORT/',
    'https://0.0.0.0:PORT/',
    'https://[::1]:PORT/',
    'https://[::]:PORT/',
    'https://[::ffff:127.0.0.1]:PORT/',
    'https://[::ffff:7f00:1]:PORT/',
    'https://[::127.0.0.1]:PORT/',
    'https://localhost:PORT/',
    'https://10.0.0.1:PORT/',
    'https://169.254.169.254:PORT/',
  ])('receives nothing: %s', async (url) => {
    let connections = 0
    const counting = await listenRaw(() => {
      connections += 1
    })
    const port = counting.split(':')[1] ?? ''
    const outcome = await refuse(postTo(url.replace('PORT', port)))
    expect(outcome).toEqual({ error: 'address_not_allowed' })
    expect(connections).toBe(0)
  })

  it.each([['169.254.169.254'], ['fe80::1'], ['::ffff:169.254.169.254'], ['100.100.100.200']])(
    'is %s also where private addresses are allowed',
    async (address) => {
      const { resolveHost } = resolving([address])
      const post = createPostDelivery({ webhookPrivate: 'allow', resolveHost })
      expect(await post(postTo('http://rebound.example/'))).toEqual({
        error: 'address_not_allowed',
      })
    },
  )

  it.each([[['127.0.0.1']], [['::1']], [['::ffff:127.0.0.1']], [['10.0.0.7', '127.0.0.1']]])(
    'is not reached by a name that resolves to %j',
    async (addresses) => {
      let connections = 0
      const counting = await listenRaw(() => {
        connections += 1
      })
      const { resolveHost } = resolving(addresses)
      const post = createPostDelivery({ webhookPrivate: 'refuse', resolveHost })
      const outcome = await post(postTo(`https://inside.example:${counting.split(':')[1] ?? ''}/`))
      expect(outcome).toEqual({ error: 'address_not_allowed' })
      expect(connections).toBe(0)
    },
  )

  it('is not reached by a name that changes its answer after the check [hook-21]', async () => {
    // Nobody listens at the first address, the receiver at the second.
    const { asked, resolveHost } = resolving(['127.0.0.2'], ['127.0.0.1'])
    const post = createPostDelivery({ webhookPrivate: 'allow', resolveHost })
    const outcome = await post(postTo(`http://rebound.example:${receiver.port}/`))
    expect(outcome).toEqual({ error: 'connection_failed' })
    expect(asked).toEqual(['rebound.example'])
    expect(receiver.received).toEqual([])
  })

  it('is not reached through a redirect', async () => {
    const inside: Server = createServer()
    let reached = 0
    inside.on('connection', () => {
      reached += 1
    })
    const port = await portOf(inside)
    receiver.behave = (_request, response) =>
      response.writeHead(307, { location: `http://127.0.0.1:${port}/` }).end()
    expect(await allow(postTo(receiver.url))).toEqual({ httpStatus: 307 })
    expect(reached).toBe(0)
    inside.close()
    await once(inside, 'close')
  })
})

describe('a name', () => {
  it('is resolved once per try, and the connection goes to the address that was checked [hook-21]', async () => {
    const { asked, resolveHost } = resolving(['127.0.0.1'])
    const post = createPostDelivery({ webhookPrivate: 'allow', resolveHost })
    const url = `http://receiver.example:${receiver.port}/`
    expect(await post(postTo(url))).toEqual({ httpStatus: 200 })
    expect(asked).toEqual(['receiver.example'])
    expect(receiver.received[0]?.headers.host).toBe(`receiver.example:${receiver.port}`)
    await post(postTo(url))
    expect(asked).toHaveLength(2)
  })

  it('is tried with its allowed addresses only', async () => {
    const { resolveHost } = resolving(['169.254.169.254', '127.0.0.1', 'fe80::1'])
    const post = createPostDelivery({ webhookPrivate: 'allow', resolveHost })
    const url = `http://mixed.example:${receiver.port}/`
    expect(await post(postTo(url))).toEqual({ httpStatus: 200 })
  })

  it('without an address fails', async () => {
    const { resolveHost } = resolving([])
    const post = createPostDelivery({ webhookPrivate: 'allow', resolveHost })
    expect(await post(postTo('http://nowhere.example/'))).toEqual({ error: 'name_not_resolved' })
  })

  it('of this machine is found without DNS', async () => {
    expect(await allow(postTo(`http://localhost:${receiver.port}/`))).toEqual({ httpStatus: 200 })
  })
})
