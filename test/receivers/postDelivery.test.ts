import type { Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Post } from '../../src/tasks/webhooks/tryDelivery.ts'
import { createPostDelivery } from '../../src/receivers/postDelivery.ts'
import type { Receiver } from '../support/webhooks/receiver.ts'
import { startReceiver } from '../support/webhooks/receiver.ts'
import { listenRaw } from '../support/upstream/testServers.ts'
import { timed } from '../support/timing.ts'

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
  it.each([200, 204, 307, 410, 500])(
    'has the status %i of its answer and follows nothing [hook-13]',
    async (status) => {
      receiver.behave = (_request, response) =>
        response.writeHead(status, { location: `${receiver.url}/elsewhere` }).end('ignored')
      expect(await allow(postTo(`${receiver.url}/a?b=c`))).toEqual({ httpStatus: status })
      expect(receiver.received.map(({ path }) => path)).toEqual(['/a?b=c'])
    },
  )

  it('uses no proxy of the environment [hook-21]', async () => {
    for (const name of ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'ALL_PROXY']) {
      vi.stubEnv(name, 'http://127.0.0.1:9')
    }
    expect(await allow(postTo(receiver.url))).toEqual({ httpStatus: 200 })
    vi.unstubAllEnvs()
  })

  it('fails when nobody listens, and when there is no TLS', async () => {
    expect(await allow(postTo('http://127.0.0.1:9/'))).toEqual({ error: 'connection_failed' })
    const plain = `https://127.0.0.1:${receiver.port}/`
    expect(await allow(postTo(plain))).toEqual({ error: 'tls_failed' })
    expect(receiver.received).toEqual([])
  })

  it.each([
    ['is cut off', undefined],
    ['has too large headers', `HTTP/1.1 200 OK\r\nx: ${'x'.repeat(32_768)}\r\n\r\n`],
    ['changes the protocol', 'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n'],
  ])('fails when the answer %s', async (_what, answer) => {
    const address = await listenRaw((socket) => {
      socket.once('data', () => (answer === undefined ? socket.destroy() : socket.write(answer)))
    })
    const outcome = await allow(postTo(`http://${address}/`))
    expect(['answer_not_read', 'connection_failed']).toContain(outcome.error)
    expect(outcome.httpStatus).toBeUndefined()
  })
})

describe('the time of a delivery', () => {
  const quick = createPostDelivery({ webhookPrivate: 'allow', timeoutMs: 700 })

  it.each([
    ['never answers', () => {}],
    ['sends interim answers for ever', dripInterim],
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

function dripInterim(socket: Socket): void {
  const timer = setInterval(() => socket.write('HTTP/1.1 103 Early Hints\r\n\r\n'), 10)
  socket.once('close', () => clearInterval(timer))
}

/** Posts to a URL whose port, written as PORT, counts the connections. */
async function countedPost(post: typeof refuse, url: string) {
  let connections = 0
  const address = await listenRaw(() => {
    connections += 1
  })
  const outcome = await post(postTo(url.replace('PORT', address.split(':')[1] ?? '')))
  return { outcome, connections }
}

describe('an address that webhooks may not reach', () => {
  const refused = { outcome: { error: 'address_not_allowed' }, connections: 0 }

  // test/receivers/webhookAddress.test.ts has every form of an address.
  it.each(['http://127.0.0.1', 'https://127.1', 'https://[::ffff:7f00:1]', 'https://localhost'])(
    'receives nothing, at every try: %s',
    async (origin) => {
      expect(await countedPost(refuse, `${origin}:PORT/`)).toEqual(refused)
      expect(await countedPost(refuse, `${origin}:PORT/`)).toEqual(refused)
    },
  )

  it.each<['allow' | 'refuse', string[]]>([
    ['allow', ['169.254.169.254', '127.0.0.1', 'fe80::1']],
    ['refuse', ['127.0.0.1']],
    ['refuse', ['127.0.0.1', '93.184.215.14']],
  ])('is not reached by a name, with private addresses on %s: %j', async (...row) => {
    const [webhookPrivate, addresses] = row
    const post = createPostDelivery({ webhookPrivate, ...resolving(addresses) })
    const scheme = webhookPrivate === 'allow' ? 'http' : 'https'
    expect(await countedPost(post, `${scheme}://inside.example:PORT/`)).toEqual(refused)
  })

  it('is not reached by a name that changes its answer after the check [hook-21]', async () => {
    // Nobody listens at the first address, the receiver at the second.
    const { asked, resolveHost } = resolving(['127.0.0.2'], ['127.0.0.1'])
    const post = createPostDelivery({ webhookPrivate: 'allow', resolveHost })
    const outcome = await post(postTo(`http://rebound.example:${receiver.port}/`))
    expect(outcome).toEqual({ error: 'connection_failed' })
    expect(asked).toEqual(['rebound.example'])
    expect(receiver.received).toEqual([])
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
  })

  it('is tried with one of its addresses after the other', async () => {
    // Nobody listens at the first address.
    const { resolveHost } = resolving(['127.0.0.2', '127.0.0.1'])
    const post = createPostDelivery({ webhookPrivate: 'allow', resolveHost })
    const url = `http://two.example:${receiver.port}/`
    expect(await post(postTo(url))).toEqual({ httpStatus: 200 })
  })

  it('of this machine is found without DNS', async () => {
    expect(await allow(postTo(`http://localhost:${receiver.port}/`))).toEqual({ httpStatus: 200 })
  })
})
