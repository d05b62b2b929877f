import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { Family } from '../../src/domain/models/models.ts'
import type { BlobStore } from '../../src/domain/ports/blobStore.ts'
import { requestBody } from '../../src/upstream/requestBody.ts'
import { createMemoryBlobs } from '../support/blobs/memoryBlobs.ts'
import { collect } from '../support/byteStreams.ts'
import { redPixelPng } from '../support/images.ts'
import { listen, goodAnswer, listenAnswering, listenRaw } from '../support/upstream/testServers.ts'
import { openUpstreamWorld } from '../support/upstream/upstreamWorld.ts'
import { until } from '../support/timing.ts'

const notSent = { class: 'refused', evidence: { reason: 'inputs_unreadable' } }

/** Counts the bytes that are read from a blob store, and the reads that are not closed. */
function watchReads() {
  const seen = { bytes: 0, open: 0 }
  async function* watched(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    seen.open += 1
    try {
      for await (const chunk of content) {
        seen.bytes += chunk.byteLength
        yield chunk
      }
    } finally {
      seen.open -= 1
    }
  }
  const watch = (blobs: BlobStore): BlobStore => ({
    ...blobs,
    read: async (key, range) => {
      const found = await blobs.read(key, range)
      return found && { ...found, content: watched(found.content) }
    },
  })
  return { seen, watch }
}

it('the body of a request says when it is sent, also when the sending stops early', async () => {
  const ends: string[] = []
  const pieces = [{ kind: 'text', text: 'a'.repeat(200_000) }] as const
  const blobs = createMemoryBlobs()
  const whole = requestBody('text/plain', pieces, blobs, () => ends.push('whole'))
  await collect(whole.open())
  const cut = requestBody('text/plain', pieces, blobs, () => ends.push('cut'))
  for await (const _ of cut.open()) break
  expect(ends).toEqual(['whole', 'cut'])
})

describe('input images sent to the upstream', () => {
  it('leave the request incomplete when one of them is missing', async () => {
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

  it('are read no faster than the upstream takes them', async () => {
    const { seen, watch } = watchReads()
    const { call, storeInput } = await openUpstreamWorld(watch)
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
    await until('the first bytes', () => seen.bytes > 0 || undefined)
    await sleep(300)
    // Little more than what the two sockets buffer.
    expect(seen.bytes).toBeLessThan(16 * 1024 * 1024)
    gate.resolve()
    expect(await calling).toMatchObject({ class: 'succeeded' })
    expect(seen.bytes).toBe(64 * 1024 * 1024)
    expect(received).toBeGreaterThan(seen.bytes)
  })

  it.each(['A', 'B'] satisfies Family[])(
    'make the outcome of family %s unknown when the upstream stops taking them or resets, and are let go',
    async (family) => {
      const { seen, watch } = watchReads()
      const { call, storeInput } = await openUpstreamWorld(watch)
      const input = await storeInput(Buffer.alloc(8 * 1024 * 1024, 7), 'image/png')
      const request = { action: 'edit', inputs: Array.from({ length: 4 }, () => input) } as const
      const silent = await listenRaw((socket) => socket.pause())
      const stalled = await call(`http://${silent}`, family, { request, call: { timeoutMs: 300 } })
      expect(stalled).toMatchObject({ class: 'unknown', evidence: { reason: 'timeout' } })
      const resetting = await listenRaw((socket) => {
        socket.pause()
        setTimeout(() => socket.resetAndDestroy(), 200)
      })
      expect(await call(`http://${resetting}`, family, { request })).toMatchObject({
        class: 'unknown',
        evidence: { reason: 'connection_lost' },
      })
      await expect.poll(() => seen.open).toBe(0)
    },
  )

  it('may be refused by the upstream before they are sent whole', async () => {
    const { call, storeInput } = await openUpstreamWorld()
    const input = await storeInput(Buffer.alloc(8 * 1024 * 1024, 7), 'image/png')
    const inputs = Array.from({ length: 8 }, () => input)
    const url = await listen((_request, response) => {
      response.writeHead(413, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ error: { message: 'too large', type: 'x', code: null } }))
    })
    const outcome = await call(url, 'A', { request: { action: 'edit', inputs } })
    expect(outcome).toMatchObject({ class: 'rejected', evidence: { reason: 'invalid_request' } })
  })
})
