import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { timed } from '../support/timing.ts'
import { goodAnswer, listenAnswering, listenRaw } from '../support/upstream/testServers.ts'
import { openUpstreamWorld } from '../support/upstream/upstreamWorld.ts'

const notSent = { class: 'refused', evidence: { reason: 'not_sent' } }

/** Writes chunks for as long as the client takes them. Returns how many bytes that were. */
function pour(response: ServerResponse, chunk: Buffer): () => number {
  let written = 0
  const more = (): void => {
    while (!response.destroyed && response.write(chunk)) written += chunk.length
  }
  response.on('drain', more)
  more()
  return () => written
}

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

  it('is unknown when the connection is reset after the request was read', async () => {
    const { call } = await openUpstreamWorld()
    const { url, count } = await listenAnswering((_, { socket }) => socket.resetAndDestroy())
    const lost = { class: 'unknown', evidence: { reason: 'connection_lost' } }
    expect(await call(url, 'B')).toMatchObject(lost)
    expect(count()).toBe(1)
  })

  it('is unknown when the answer breaks off, with the evidence seen before', async () => {
    const { call } = await openUpstreamWorld()
    const { url } = await listenAnswering((response) => {
      response.writeHead(200, { 'content-length': goodAnswer.length, 'x-request-id': 'req-7' })
      response.write(goodAnswer.slice(0, 40), () => response.destroy())
    })
    expect(await call(url, 'B')).toMatchObject({
      class: 'unknown',
      evidence: { reason: 'connection_lost', httpStatus: 200, upstreamRequestId: 'req-7' },
    })
  })

  it('ends at its total time although its answer still arrives', async () => {
    const { call } = await openUpstreamWorld()
    const { url } = await listenAnswering((response) => {
      response.writeHead(200)
      const timer = setInterval(() => response.write(' '), 10)
      response.on('close', () => clearInterval(timer))
    })
    const tookMs = await timed(async () =>
      expect(await call(url, 'B', { call: { timeoutMs: 300 } })).toMatchObject({
        class: 'unknown',
        evidence: { reason: 'timeout', httpStatus: 200 },
      }),
    )
    expect(tookMs).toBeLessThan(2000)
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

  it('reads only the start of an endless error body', async () => {
    const { call } = await openUpstreamWorld()
    let written = () => 0
    const { url } = await listenAnswering((response) => {
      written = pour(response.writeHead(429), Buffer.alloc(64 * 1024, 'x'))
    })
    expect(await call(url, 'A')).toMatchObject({ class: 'refused' })
    expect(written()).toBeLessThan(32 * 1024 * 1024)
  })

  it('stops reading an answer of spaces at its limit', async () => {
    const { call } = await openUpstreamWorld()
    const { url } = await listenAnswering((response) => {
      pour(response.writeHead(200), Buffer.alloc(1024 * 1024, ' '))
    })
    const outcome = await call(url, 'B', { call: { timeoutMs: 40_000 } })
    const evidence = { reason: 'answer_too_large' }
    expect(outcome).toMatchObject({ class: 'unknown', evidence })
  })

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
