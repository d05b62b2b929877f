import { randomBytes } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { describe, expect, it } from 'vitest'
import { readObject } from '../../src/blobs/s3Objects.ts'
import { collect, streamOf } from '../support/byteStreams.ts'
import type { SeenRequest } from '../support/blobs/fakeObjectStore.ts'
import { fakeObjectStore } from '../support/blobs/fakeObjectStore.ts'

const at = { bucket: 'bucket', key: 'an1/image' }

/** A store with one object; `spoil` may answer a GET otherwise, and says whether it did. */
async function storeOf(
  bytes: Buffer,
  spoil: (piece: Buffer, response: ServerResponse) => boolean = () => false,
) {
  const serve = ({ method, headers }: SeenRequest, response: ServerResponse): void => {
    if (method === 'HEAD') {
      response.writeHead(200, { 'content-length': bytes.length }).end()
      return
    }
    const [, first = '', last = ''] = /^bytes=(\d+)-(\d+)$/.exec(headers['range'] ?? '') ?? []
    const piece = bytes.subarray(Number(first), Number(last) + 1)
    if (spoil(piece, response)) return
    response.writeHead(206, { 'content-length': piece.length }).end(piece)
  }
  return await fakeObjectStore(serve)
}

describe('download from an object store', () => {
  it('asks for the size alone until the content is read', async () => {
    const { client, seen } = await storeOf(Buffer.from('content'))
    const found = await readObject(client, at)
    expect(found?.bytes).toBe(7)
    expect(seen.map(({ method }) => method)).toEqual(['HEAD'])
  })

  it('holds no connection open while its reader pauses', async () => {
    const bytes = randomBytes(5 * 1024 * 1024)
    const open = new Set<ServerResponse>()
    const { client } = await storeOf(bytes, (_piece, response) => {
      open.add(response)
      response.on('close', () => open.delete(response))
      return false
    })
    const found = await readObject(client, at)
    const chunks: Uint8Array[] = []
    for await (const chunk of found?.content ?? streamOf([])) {
      chunks.push(chunk)
      await expect.poll(() => open.size).toBe(0)
    }
    expect(chunks.length).toBeGreaterThan(1)
    expect(Buffer.concat(chunks).equals(bytes)).toBe(true)
  })

  it('fetches a piece again whose answer broke off', async () => {
    const bytes = randomBytes(3 * 1024 * 1024)
    let broken = 0
    const { client } = await storeOf(bytes, (piece, response) => {
      if (broken++ > 1) return false
      response.writeHead(206, { 'content-length': piece.length })
      response.write(piece.subarray(0, 1000), () => response.destroy())
      return true
    })
    const found = await readObject(client, at)
    expect((await contentOf(found)).equals(bytes)).toBe(true)
  })

  it('fails rather than pass a short blob on', async () => {
    const { client, seen } = await storeOf(Buffer.from('content'), (_piece, response) => {
      response.writeHead(206).end('cont')
      return true
    })
    const found = await readObject(client, at)
    await expect(contentOf(found)).rejects.toThrow('another number of bytes')
    expect(seen).toHaveLength(4)
  })
})

async function contentOf(found: Awaited<ReturnType<typeof readObject>>): Promise<Buffer> {
  return await collect(found?.content ?? streamOf([]))
}
