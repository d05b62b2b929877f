import { randomBytes } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { describe, expect, it } from 'vitest'
import { createS3BlobStore } from '../../src/blobs/s3BlobStore.ts'
import { BlobExistsError } from '../../src/domain/ports/blobStore.ts'
import type { SeenRequest } from '../support/blobs/fakeObjectStore.ts'
import { fakeObjectStore } from '../support/blobs/fakeObjectStore.ts'
import { collect, streamOf } from '../support/byteStreams.ts'

/** A blob store on an object store that answers as `answer` says. */
async function openStore(answer: (request: SeenRequest, response: ServerResponse) => void) {
  const { client, seen } = await fakeObjectStore(answer)
  const store = createS3BlobStore({ client, bucket: 'bucket', namePrefix: '' })
  return { store, seen }
}

/** One answer of the object store: a status, or a connection that breaks after the body was read. */
type Answer = 'lost' | number

/** Gives `answers` in order. A HEAD finds the object that the first request has uploaded, or one of another upload. */
async function storeAnswering(answers: readonly Answer[], stored: 'own' | 'other' = 'own') {
  const left = [...answers]
  const { store, seen } = await openStore((_request, response) => {
    const next = left.shift() ?? 500
    const mark = stored === 'own' ? seen[0]?.headers['x-amz-meta-upload'] : 'of another'
    if (next === 'lost') response.destroy()
    else response.writeHead(next, { 'x-amz-meta-upload': mark }).end()
  })
  const bytes = randomBytes(100_000)
  return { put: async () => await store.put(['an1/image', bytes]), seen, bytes }
}

describe('upload to an object store', () => {
  it('asks the store to refuse an existing key and to check the bytes', async () => {
    const { put, seen, bytes } = await storeAnswering([200])
    await put()
    const [only] = seen
    expect(only?.headers['if-none-match']).toBe('*')
    expect(only?.headers).toHaveProperty('x-amz-checksum-crc32')
    expect(only?.body.equals(bytes)).toBe(true)
  })

  it('sends a large image at once, over a connection that stays open', async () => {
    const { store, seen } = await openStore((_request, response) => response.end())
    await store.put(['an1/image', randomBytes(3 * 1024 * 1024)])
    expect(seen[0]?.headers).toMatchObject({ connection: 'keep-alive' })
    expect(seen[0]?.headers.expect).toBeUndefined()
  })

  it('believes a 412 only when another writer has stored the object', async () => {
    const own = await storeAnswering(['lost', 412, 200], 'own')
    await own.put()
    expect(own.seen.map(({ method }) => method)).toEqual(['PUT', 'PUT', 'HEAD'])
    const other = await storeAnswering(['lost', 412, 200], 'other')
    await expect(other.put()).rejects.toThrow(BlobExistsError)
  })
})

describe('download from an object store', () => {
  it('fails when its body breaks off', async () => {
    const { store } = await openStore((_request, response) => {
      response.writeHead(200, { 'content-length': 7 })
      response.write('cont', () => response.destroy())
    })
    await expect(contentOf(await store.read('an1/image'))).rejects.toThrow('aborted')
  })

  it('fails when the store does not say its length, because its end could then be missing', async () => {
    const { store } = await openStore((_request, response) => {
      response.write('cont')
      response.end()
    })
    await expect(store.read('an1/image')).rejects.toThrow('no length')
  })
})

async function contentOf(
  found: { readonly content: AsyncIterable<Uint8Array> } | undefined,
): Promise<Buffer> {
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
    const { store, seen } = await openStore(({ method, url }, response) => {
      if (method === 'POST') response.end('<DeleteResult/>')
      else response.end(url.includes('token=') ? listing(['an1/b']) : listing(['an1/a'], 'more'))
    })
    await store.deletePrefix('an1')
    const deletions = seen.filter(({ method }) => method === 'POST')
    const keys = deletions.map(({ body }) => /<Key>(.*?)<\/Key>/.exec(body.toString())?.[1])
    expect(keys).toEqual(['an1/a', 'an1/b'])
  })

  it('fails when the store refuses to delete one of the objects', async () => {
    const refused =
      '<DeleteResult><Error><Key>an1/a</Key><Code>AccessDenied</Code></Error></DeleteResult>'
    const { store } = await openStore(({ method }, response) => {
      response.end(method === 'POST' ? refused : listing(['an1/a']))
    })
    await expect(store.deletePrefix('an1')).rejects.toThrow('AccessDenied')
  })
})

describe('an object store that loses its bucket', () => {
  /** A store with nothing but its id. Nothing is there once the bucket is lost, which is when the id is absent. */
  async function openEmptyStore() {
    const state: { id: string | undefined } = { id: 'id' }
    const { store } = await openStore(({ method, url }, response) => {
      const { id } = state
      const isId = url.includes('.store-id')
      if (id === undefined || (url.includes('an1/image') && !isId)) response.writeHead(404).end()
      else if (isId) response.writeHead(200, { 'content-length': id.length }).end(id)
      else response.end(method === 'GET' ? listing([]) : undefined)
    })
    expect(await store.storeId()).toBe('id')
    return { state, store }
  }

  it('is not believed that a blob is absent', async () => {
    const { state, store } = await openEmptyStore()
    expect(await store.read('an1/image')).toBeUndefined()
    await store.deletePrefix('an1')
    state.id = undefined
    await expect(store.read('an1/image')).rejects.toThrow('id')
    await expect(store.bytesOf('an1/image')).rejects.toThrow('id')
    const noSuchBucket = { $metadata: { httpStatusCode: 404 } }
    await expect(store.deletePrefix('an1')).rejects.toMatchObject(noSuchBucket)
  })

  it('is not believed when an empty bucket has taken its place', async () => {
    const { state, store } = await openEmptyStore()
    state.id = 'no'
    await expect(store.deletePrefix('an1')).rejects.toThrow('id')
  })
})
