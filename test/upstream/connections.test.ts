import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { BlobStore } from '../../src/domain/blobStore.ts'
import { collect } from '../support/byteStreams.ts'
import { listen, portOf } from '../support/httpServer.ts'
import { redPixelPng } from '../support/images.ts'
import { openUpstreamWorld } from '../support/upstreamWorld.ts'

const notSent = { class: 'refused', evidence: { reason: 'not_sent' } }
const lost = { class: 'unknown', evidence: { reason: 'connection_lost' } }
const goodAnswer = JSON.stringify({
  created: 1,
  data: [{ b64_json: redPixelPng.toString('base64') }],
})

/** A raw TCP server; `serve` sees every connection. */
async function listenRaw(serve: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    serve(socket)
  })
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `127.0.0.1:${await portOf(server)}`
}

/** Answers once the whole request has been read. */
async function listenAnswering(
  answer: (response: ServerResponse, request: IncomingMessage, count: number) => void,
): Promise<{ url: string; count: () => number }> {
  let count = 0
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    count += 1
    await collect(request)
    answer(response, request, count)
  }
  const url = await listen((request, response) => void serve(request, response).catch(() => {}))
  return { url, count: () => count }
}

describe('connections to the upstream', () => {
  it('knows that nothing was sent to a port where nobody listens', async () => {
    const { call } = await openUpstreamWorld()
    expect(await call('http://127.0.0.1:1', 'A')).toEqual(notSent)
    expect(await call('http://127.0.0.1:1', 'B')).toEqual(notSent)
  })

  it('knows that nothing was sent to a name that does not resolve', async () => {
    const { call } = await openUpstreamWorld()
    expect(await call('http://upstream.invalid', 'A')).toEqual(notSent)
  })

  it('knows that nothing was sent when TLS fails', async () => {
    const { call } = await openUpstreamWorld()
    const seen: Buffer[] = []
    const address = await listenRaw((socket) => {
      socket.on('data', (chunk: Buffer) => seen.push(chunk))
      socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')
    })
    expect(await call(`https://${address}`, 'A')).toEqual(notSent)
    expect(Buffer.concat(seen).toString('latin1')).not.toContain('generateContent')
  })

  it('knows that nothing was sent when the time is over before TLS is ready', async () => {
    const { call } = await openUpstreamWorld()
    const address = await listenRaw(() => {})
    const startedAt = Date.now()
    expect(await call(`https://${address}`, 'A', { call: { timeoutMs: 200 } })).toEqual(notSent)
    expect(Date.now() - startedAt).toBeLessThan(2000)
  })

  it('sends nothing for a call given up beforehand', async () => {
    const { call } = await openUpstreamWorld()
    const { url, count } = await listenAnswering((response) => response.end(goodAnswer))
    const signal = AbortSignal.abort()
    expect(await call(url, 'B', { call: { signal } })).toEqual(notSent)
    expect(count()).toBe(0)
  })

  it('says unknown when the connection is reset after the request was read', async () => {
    const { call } = await openUpstreamWorld()
    const { url, count } = await listenAnswering((_, { socket }) => socket.resetAndDestroy())
    expect(await call(url, 'B')).toMatchObject(lost)
    expect(count()).toBe(1)
  })

  it('says unknown when a reused connection is reset, and does not repeat the call', async () => {
    const { call } = await openUpstreamWorld()
    const sockets = new Set<Socket>()
    const { url, count } = await listenAnswering((response, { socket }, count) => {
      sockets.add(socket)
      if (count === 1) response.end(goodAnswer)
      else socket.resetAndDestroy()
    })
    expect(await call(url, 'B')).toMatchObject({ class: 'succeeded' })
    // The connection is free again a moment after its answer.
    await sleep(50)
    expect(await call(url, 'B')).toMatchObject(lost)
    expect([sockets.size, count()]).toEqual([1, 2])
  })

  it('says unknown when the answer ends in the middle, and keeps what it saw', async () => {
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

  it('ends a call whose answer drips on beyond the total time', async () => {
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

  it('takes a 429 for what it is although its body never ends', async () => {
    const { call } = await openUpstreamWorld()
    const { url } = await listenAnswering((response) => {
      response.writeHead(429, { 'retry-after': '3' })
      response.write('{"error":')
    })
    const startedAt = Date.now()
    expect(await call(url, 'B')).toMatchObject({ class: 'refused', retryAfterMs: 3000 })
    expect(Date.now() - startedAt).toBeLessThan(5000)
  })

  it('does not read an error body without end', async () => {
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
    expect(await call(url, 'B')).toMatchObject({
      class: 'unknown',
      evidence: { reason: 'answer_too_large' },
    })
  })

  it('sends nothing that could be acted on when an input is missing', async () => {
    const { call, storeInput } = await openUpstreamWorld()
    const there = await storeInput(redPixelPng, 'image/png')
    const complete: string[] = []
    const { url } = await listenAnswering((_, request) => complete.push(request.url ?? ''))
    const inputs = [there, { ...there, blobKey: 'in1/0' }]
    const request = { action: 'edit', inputs } as const
    expect(await call(url, 'A', { request })).toEqual(notSent)
    expect(await call(url, 'B', { request })).toEqual(notSent)
    const shorter = [{ ...there, bytes: there.bytes - 1 }]
    expect(await call(url, 'B', { request: { action: 'edit', inputs: shorter } })).toEqual(notSent)
    expect(complete).toEqual([])
  })

  it('reads no more of 64 MiB of inputs than the upstream takes', async () => {
    let readBytes = 0
    const counting = (blobs: BlobStore): BlobStore => ({
      ...blobs,
      read: async (key, range) => {
        const found = await blobs.read(key, range)
        return found && { ...found, content: counted(found.content) }
      },
    })
    async function* counted(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
      for await (const chunk of content) {
        readBytes += chunk.byteLength
        yield chunk
      }
    }
    const { call, storeInput } = await openUpstreamWorld(counting)
    const input = await storeInput(Buffer.alloc(4 * 1024 * 1024, 7), 'image/png')
    const inputs = Array.from({ length: 16 }, () => input)
    const gate = Promise.withResolvers<void>()
    let received = 0
    const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
      await gate.promise
      for await (const chunk of request) received += Buffer.from(chunk).length
      response.end(goodAnswer)
    }
    const url = await listen((request, response) => void serve(request, response))
    const calling = call(url, 'B', { request: { action: 'edit', inputs } })
    await sleep(300)
    expect(readBytes).toBeGreaterThan(0)
    // What the two sockets buffer, and little more.
    expect(readBytes).toBeLessThan(16 * 1024 * 1024)
    gate.resolve()
    expect(await calling).toMatchObject({ class: 'succeeded' })
    expect(readBytes).toBe(64 * 1024 * 1024)
    expect(received).toBeGreaterThan(readBytes)
  })

  it('keeps of a request id only what is harmless in a log', async () => {
    const { call } = await openUpstreamWorld()
    const { url } = await listenAnswering((response) => {
      response.setHeader('x-request-id', `ab-1 "\t<script>${'x'.repeat(300)}`)
      response.end(goodAnswer)
    })
    const { evidence } = await call(url, 'B')
    expect(evidence.upstreamRequestId).toMatch(/^ab-1scriptx{118}$/)
  })

  it('answers while the upload is still under way when the upstream refuses early', async () => {
    const { call, storeInput } = await openUpstreamWorld()
    const input = await storeInput(Buffer.alloc(8 * 1024 * 1024, 7), 'image/png')
    const inputs = Array.from({ length: 8 }, () => input)
    const url = await listen((_request, response) => {
      response.writeHead(413, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ error: { message: 'too large', type: 'x', code: null } }))
    })
    const outcome = await call(url, 'A', { request: { action: 'edit', inputs } })
    expect(outcome).toMatchObject({ class: 'rejected', code: 'upstream_invalid_request' })
  })
})
