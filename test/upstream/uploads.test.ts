import { describe, expect, it } from 'vitest'
import type { Family } from '../../src/domain/models/models.ts'
import type { BlobStore } from '../../src/domain/ports/blobStore.ts'
import { requestBody } from '../../src/upstream/requestBody.ts'
import { createMemoryBlobs } from '../support/blobs/memoryBlobs.ts'
import { collect } from '../support/byteStreams.ts'
import { redPixelPng } from '../support/images.ts'
import { listen, listenAnswering, listenRaw } from '../support/upstream/testServers.ts'
import { openUpstreamWorld } from '../support/upstream/upstreamWorld.ts'

const notSent = { class: 'refused', evidence: { reason: 'inputs_unreadable' } }

/** Counts the reads of a blob store that are not closed. */
function watchReads() {
  const seen = { open: 0 }
  async function* watched(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    seen.open += 1
    try {
      yield* content
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
