import { describe, expect, it } from 'vitest'
import { goodAnswer, listenAnswering, listenRaw } from '../support/upstream/testServers.ts'
import { openUpstreamWorld } from '../support/upstream/upstreamWorld.ts'

const notSent = { class: 'refused', evidence: { reason: 'not_sent' } }
const lost = { class: 'unknown', evidence: { reason: 'connection_lost' } }

describe('a call over a connection that fails', () => {
  it('is not sent to a port where no server listens', async () => {
    const { call } = await openUpstreamWorld()
    expect(await call('http://127.0.0.1:1', 'A')).toEqual(notSent)
    expect(await call('http://127.0.0.1:1', 'B')).toEqual(notSent)
  })

  it('is not sent to a host name that does not resolve', async () => {
    const { call } = await openUpstreamWorld()
    expect(await call('http://upstream.invalid', 'A')).toEqual(notSent)
  })

  it('is not sent when TLS fails', async () => {
    const { call } = await openUpstreamWorld()
    const seen: Buffer[] = []
    const address = await listenRaw((socket) => {
      socket.on('data', (chunk: Buffer) => seen.push(chunk))
      socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')
    })
    expect(await call(`https://${address}`, 'A')).toEqual(notSent)
    expect(Buffer.concat(seen).toString('latin1')).not.toContain('generateContent')
  })

  it('is not sent when its time is over before TLS is ready', async () => {
    const { call } = await openUpstreamWorld()
    const address = await listenRaw(() => {})
    const startedAt = Date.now()
    expect(await call(`https://${address}`, 'A', { call: { timeoutMs: 200 } })).toEqual(notSent)
    expect(Date.now() - startedAt).toBeLessThan(2000)
  })

  it('is unknown when the connection is reset after the request was read', async () => {
    const { call } = await openUpstreamWorld()
    const { url, count } = await listenAnswering((_, { socket }) => socket.resetAndDestroy())
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
    const startedAt = Date.now()
    expect(await call(url, 'B', { call: { timeoutMs: 300 } })).toMatchObject({
      class: 'unknown',
      evidence: { reason: 'timeout', httpStatus: 200 },
    })
    expect(Date.now() - startedAt).toBeLessThan(2000)
  })

  it.each([9_000.000000000002, 9_000.7])(
    'succeeds within a total time of %d ms',
    async (timeoutMs) => {
      const { call } = await openUpstreamWorld()
      const { url } = await listenAnswering((response) => response.end(goodAnswer))
      expect(await call(url, 'B', { call: { timeoutMs } })).toMatchObject({ class: 'succeeded' })
    },
  )

  it.each([200.5, 0.4, 0, -1])(
    'ends at its total time of %d ms when the upstream is silent',
    async (timeoutMs) => {
      const { call } = await openUpstreamWorld()
      const { url } = await listenAnswering(() => {})
      const startedAt = Date.now()
      const outcome = await call(url, 'B', { call: { timeoutMs } })
      expect(['timeout', 'not_sent']).toContain(outcome.evidence.reason)
      expect(Date.now() - startedAt).toBeLessThan(2000)
    },
  )

  it('keeps the Retry-After of an error after which the outcome is unknown', async () => {
    const { call } = await openUpstreamWorld()
    const { url } = await listenAnswering((response) => {
      response.writeHead(500, { 'retry-after': '3' })
      response.end()
    })
    expect(await call(url, 'B')).toMatchObject({ class: 'unknown', retryAfterMs: 3000 })
  })

  it('is refused by a 429 whose body never ends', async () => {
    const { call } = await openUpstreamWorld()
    const { url } = await listenAnswering((response) => {
      response.writeHead(429, { 'retry-after': '3' })
      response.write('{"error":')
    })
    const startedAt = Date.now()
    expect(await call(url, 'B')).toMatchObject({ class: 'refused', retryAfterMs: 3000 })
    expect(Date.now() - startedAt).toBeLessThan(5000)
  })

  it('reads only the start of an endless error body', async () => {
    const { call } = await openUpstreamWorld()
    let written = 0
    const { url } = await listenAnswering((response) => {
      response.writeHead(429)
      const chunk = Buffer.alloc(64 * 1024, 'x')
      const pour = (): void => {
        while (!response.destroyed && response.write(chunk)) written += chunk.length
      }
      response.on('drain', pour)
      pour()
    })
    expect(await call(url, 'A')).toMatchObject({ class: 'refused' })
    expect(written).toBeLessThan(32 * 1024 * 1024)
  })

  it('stops reading an answer of spaces at its limit', async () => {
    const { call } = await openUpstreamWorld()
    const { url } = await listenAnswering((response) => {
      response.writeHead(200)
      const chunk = Buffer.alloc(1024 * 1024, ' ')
      const pour = (): void => {
        while (!response.destroyed && response.write(chunk));
      }
      response.on('drain', pour)
      pour()
    })
    expect(await call(url, 'B', { call: { timeoutMs: 40_000 } })).toMatchObject({
      class: 'unknown',
      evidence: { reason: 'answer_too_large' },
    })
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
