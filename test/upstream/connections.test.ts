import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { paddedPng } from '../support/images.ts'
import { timed } from '../support/timing.ts'
import { goodAnswer, listenAnswering, listenRaw } from '../support/upstream/testServers.ts'
import { openUpstreamWorld } from '../support/upstream/upstreamWorld.ts'

const notSent = { class: 'refused', evidence: { reason: 'not_sent' } }

describe('a call over a connection that fails', () => {
  const refuseTls = (socket: Socket) => void socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')
  it.each<[string, () => Promise<string> | string]>([
    ['to a port where no server listens', () => 'http://127.0.0.1:1'],
    ['to a host name that does not resolve', () => 'http://upstream.invalid'],
    ['when TLS fails', async () => `https://${await listenRaw(refuseTls)}`],
    [
      'when its time is over before TLS is ready',
      async () => `https://${await listenRaw(() => {})}`,
    ],
  ])('is not sent %s', async (_when, address) => {
    const { call } = await openUpstreamWorld()
    const url = await address()
    const tookMs = await timed(async () => {
      for (const family of ['A', 'B'] as const) {
        expect(await call(url, family, { call: { timeoutMs: 500 } })).toEqual(notSent)
      }
    })
    expect(tookMs).toBeLessThan(4_000)
  })

  it('sends no byte when its process stood still until the connection was ready', async () => {
    const received: string[] = []
    const url = await listenRaw(
      (socket) => void socket.on('data', (bytes) => received.push(bytes.toString())),
    )
    const { call } = await openUpstreamWorld()
    for (const family of ['A', 'B'] as const) {
      expect(await call(`http://${url}`, family, { call: { mayBegin: () => false } })).toEqual({
        class: 'refused',
        evidence: { reason: 'not_called' },
      })
    }
    expect(received).toEqual([])
  })

  it.each([200.5, 0.4, 0, -1])(
    'ends at its total time of %d ms when the upstream is silent',
    async (timeoutMs) => {
      const { call } = await openUpstreamWorld()
      const { url } = await listenAnswering(() => {})
      const tookMs = await timed(async () => {
        const outcome = await call(url, 'B', { call: { timeoutMs } })
        expect(['timeout', 'not_sent']).toContain(outcome.evidence.reason)
      })
      expect(tookMs).toBeLessThan(2000)
    },
  )

  it.each([
    ['a 500', 'unknown', 500, (response: ServerResponse) => response.end()],
    ['a 429 whose body never ends', 'refused', 429, (response) => response.write('{"error":')],
  ] satisfies [string, string, number, (response: ServerResponse) => unknown][])(
    'keeps the Retry-After of %s, and is %s',
    async (_what, outcome, status, end) => {
      const { call } = await openUpstreamWorld()
      const { url } = await listenAnswering((response) => {
        response.writeHead(status, { 'retry-after': '3' })
        end(response)
      })
      const tookMs = await timed(async () =>
        expect(await call(url, 'B')).toMatchObject({ class: outcome, retryAfterMs: 3000 }),
      )
      expect(tookMs).toBeLessThan(5000)
    },
  )

  it('reports a request id without characters that could harm a log', async () => {
    const { call } = await openUpstreamWorld()
    const { url } = await listenAnswering((response) => {
      response.setHeader('x-request-id', `ab-1 "\t<script>${'x'.repeat(300)}`)
      response.end(goodAnswer)
    })
    const { evidence } = await call(url, 'B')
    expect(evidence.upstreamRequestId).toMatch(/^ab-1scriptx{118}$/)
  })
})

/** A connection that stays open can take the next call this long after its answer. */
const freeAfterMs = 30

const imageOf = (order: number) => paddedPng(1000, order)

function messageOf(order: number): string {
  const body = JSON.stringify({ data: [{ b64_json: imageOf(order).toString('base64') }] })
  return `HTTP/1.1 200 OK\r\nconnection: keep-alive\r\ncontent-length: ${body.length}\r\n\r\n${body}`
}

describe('the connections of the upstream agent', () => {
  it('serve one call each and then close, also when an answer arrives once more', async () => {
    const { call } = await openUpstreamWorld()
    const sockets: Socket[] = []
    const asked: (string | undefined)[] = []
    const { url } = await listenAnswering((_, { socket, headers }, order) => {
      sockets.push(socket)
      asked.push(headers.connection)
      if (order === 2) sockets[0]?.write(messageOf(1))
      setTimeout(() => socket.write(messageOf(order)), order === 1 ? 0 : 100)
    })
    for (const order of [1, 2, 3]) {
      const outcome = await call(url, 'B')
      if (outcome.class !== 'succeeded') throw new Error(outcome.evidence.reason)
      expect(outcome.image.bytes).toEqual(imageOf(order))
      await sleep(freeAfterMs)
    }
    expect(asked).toEqual(['close', 'close', 'close'])
    expect(new Set(sockets).size).toBe(3)
    await expect.poll(() => sockets.filter((socket) => !socket.destroyed)).toEqual([])
  })

  it('are as many as the calls: 1,100 at once are all sent', async () => {
    const { call } = await openUpstreamWorld()
    const sockets: Socket[] = []
    const address = await listenRaw((socket) => {
      sockets.push(socket)
      if (sockets.length === 1_100) for (const each of sockets) each.destroy()
    })
    const one = () => call(`http://${address}`, 'B', { call: { timeoutMs: 30_000 } })
    await Promise.all(Array.from({ length: 1_100 }, one))
    expect(sockets).toHaveLength(1_100)
  })
})
