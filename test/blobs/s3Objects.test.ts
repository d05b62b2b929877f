import { createHash, randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createS3BlobStore } from '../../src/blobs/s3BlobStore.ts'
import { deleteObjects, putObject, readObject } from '../../src/blobs/s3Objects.ts'
import { BlobExistsError } from '../../src/domain/ports/blobStore.ts'
import type { SeenRequest } from '../support/blobs/fakeObjectStore.ts'
import { fakeObjectStore } from '../support/blobs/fakeObjectStore.ts'
import { collect, streamOf } from '../support/byteStreams.ts'
import { tempFolder } from '../support/tempFolder.ts'

/** One answer of the object store: a status, or a connection that breaks after the body was read. */
type Answer = 'lost' | number

/** Gives `answers` in order. `storedMark`: the upload mark of the object that a HEAD finds. */
async function storeAnswering(answers: readonly Answer[], storedMark = '') {
  const left = [...answers]
  const { client, seen } = await fakeObjectStore((_request, response) => {
    const next = left.shift() ?? 500
    if (next === 'lost') response.destroy()
    else response.writeHead(next, { 'x-amz-meta-upload': storedMark }).end()
  })
  const put = async (name = 'mark'): Promise<void> => {
    const bytes = randomBytes(100_000)
    const path = join(tempFolder(), 'upload')
    writeFileSync(path, bytes)
    const sha256 = createHash('sha256').update(bytes).digest('hex')
    const file = { name, path, bytes: bytes.length, sha256, remove: async () => {} }
    await putObject(client, { bucket: 'bucket', key: 'an1/image' }, file)
  }
  return { put, seen }
}

describe('upload to an object store', () => {
  it('asks the store to refuse an existing key and to check the digest', async () => {
    const { put, seen } = await storeAnswering([200])
    await put()
    const [only] = seen
    expect(only?.headers['if-none-match']).toBe('*')
    const digest = createHash('sha256')
      .update(only?.body ?? '')
      .digest('base64')
    expect(only?.headers['x-amz-checksum-sha256']).toBe(digest)
    expect(only?.headers['content-length']).toBe('100000')
  })

  it.each([[[409, 200]], [[503, 500, 200]], [['lost', 200]]] satisfies [Answer[]][])(
    'sends the whole content again after %j',
    async (answers) => {
      const { put, seen } = await storeAnswering(answers)
      await put()
      expect(seen.map(({ method }) => method)).toEqual(answers.map(() => 'PUT'))
      expect(seen.at(-1)?.body.length).toBe(100_000)
    },
  )

  it('believes a 412 only when another writer has stored the object', async () => {
    const { put, seen } = await storeAnswering(['lost', 412, 200], 'mine')
    await put('mine')
    expect(seen.map(({ method }) => method)).toEqual(['PUT', 'PUT', 'HEAD'])
    const other = await storeAnswering(['lost', 412, 200], 'of another')
    await expect(other.put('mine')).rejects.toThrow(BlobExistsError)
  })

  it.each<[string, number, Answer[]]>([
    ['after four tries', 4, [503, 503, 503, 503, 200]],
    ['at once when the store forbids the upload', 1, [403, 200]],
  ])('gives up %s', async (_when, tries, answers) => {
    const { put, seen } = await storeAnswering(answers)
    const httpStatusCode = answers[0]
    await expect(put()).rejects.toMatchObject({ $metadata: { httpStatusCode } })
    expect(seen).toHaveLength(tries)
  })
})

const at = { bucket: 'bucket', key: 'an1/image' }

/** A store with one object. `spoil` may answer a GET itself and then returns true. */
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
  it('asks for the size first, and holds no connection and at most 256 KiB while its reader pauses', async () => {
    const bytes = randomBytes(1024 * 1024 + 1)
    const open = new Set<ServerResponse>()
    const { client, seen } = await storeOf(bytes, (_piece, response) => {
      open.add(response)
      response.on('close', () => open.delete(response))
      return false
    })
    const found = await readObject(client, at)
    expect(found?.bytes).toBe(bytes.length)
    expect(seen.map(({ method }) => method)).toEqual(['HEAD'])
    const chunks: Uint8Array[] = []
    for await (const chunk of found?.content ?? streamOf([])) {
      chunks.push(chunk)
      await expect.poll(() => open.size).toBe(0)
    }
    expect(chunks.map(({ length }) => length)).toEqual([262_144, 262_144, 262_144, 262_144, 1])
    expect(Buffer.concat(chunks).equals(bytes)).toBe(true)
  })

  it('fetches a piece again when its answer breaks off', async () => {
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

  it('fails when the store sends fewer bytes than asked for', async () => {
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

function listing(keys: readonly string[], next?: string): string {
  const objects = keys.map((key) => `<Contents><Key>${key}</Key></Contents>`).join('')
  const more =
    next === undefined
      ? '<IsTruncated>false</IsTruncated>'
      : `<IsTruncated>true</IsTruncated><NextContinuationToken>${next}</NextContinuationToken>`
  return `<ListBucketResult>${objects}${more}</ListBucketResult>`
}

describe('deletion from an object store', () => {
  it('deletes every page of the listing', async () => {
    const { client, seen } = await fakeObjectStore(({ method, url }, response) => {
      if (method === 'POST') response.end('<DeleteResult/>')
      else response.end(url.includes('token=') ? listing(['an1/b']) : listing(['an1/a'], 'more'))
    })
    await deleteObjects(client, 'bucket', 'an1/')
    const deletions = seen.filter(({ method }) => method === 'POST')
    const keys = deletions.map(({ body }) => /<Key>(.*?)<\/Key>/.exec(body.toString())?.[1])
    expect(keys).toEqual(['an1/a', 'an1/b'])
  })

  it('fails when the store refuses to delete one of the objects', async () => {
    const refused =
      '<DeleteResult><Error><Key>an1/a</Key><Code>AccessDenied</Code></Error></DeleteResult>'
    const { client } = await fakeObjectStore(({ method }, response) => {
      response.end(method === 'POST' ? refused : listing(['an1/a']))
    })
    await expect(deleteObjects(client, 'bucket', 'an1/')).rejects.toThrow('AccessDenied')
  })
})

describe('an object store that loses its bucket', () => {
  /** A store with nothing but its id. Nothing is there once the bucket is lost, which is when the id is absent. */
  async function openStore() {
    const state: { id: string | undefined } = { id: 'id' }
    const { client } = await fakeObjectStore(({ method, url }, response) => {
      const { id } = state
      const isId = url.includes('.store-id')
      if (id === undefined || (method !== 'GET' && !isId)) response.writeHead(404).end()
      else if (isId) response.writeHead(200, { 'content-length': id.length }).end(id)
      else response.end(listing([]))
    })
    const deps = { randomBytes, nowMs: Date.now, tempDirectory: tempFolder() }
    const store = await createS3BlobStore({ ...deps, client, bucket: 'bucket', namePrefix: '' })
    expect(await store.storeId()).toBe('id')
    return { state, store }
  }

  it('is not believed that a blob is absent', async () => {
    const { state, store } = await openStore()
    expect(await store.read('an1/image')).toBeUndefined()
    await store.deletePrefix('an1')
    state.id = undefined
    await expect(store.read('an1/image')).rejects.toThrow('id')
    const noSuchBucket = { $metadata: { httpStatusCode: 404 } }
    await expect(store.deletePrefix('an1')).rejects.toMatchObject(noSuchBucket)
  })

  it('is not believed when an empty bucket has taken its place', async () => {
    const { state, store } = await openStore()
    state.id = 'no'
    await expect(store.deletePrefix('an1')).rejects.toThrow('id')
  })
})
