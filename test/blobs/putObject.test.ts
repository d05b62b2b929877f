import { createHash, randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { putObject } from '../../src/blobs/s3Objects.ts'
import { BlobExistsError } from '../../src/domain/ports/blobStore.ts'
import { fakeObjectStore } from '../support/blobs/fakeObjectStore.ts'
import { tempFolder } from '../support/tempFolder.ts'

/** One answer of the object store: a status, or a connection that breaks once the body was read. */
type Answer = 'lost' | number

/** Answers in order; `storedMark` is that of the object which a HEAD finds. */
async function storeAnswering(answers: readonly Answer[], storedMark = '') {
  const left = [...answers]
  const { client, seen } = await fakeObjectStore((_request, response) => {
    const next = left.shift() ?? 500
    if (next === 'lost') response.destroy()
    else response.writeHead(next, { 'x-amz-meta-upload': storedMark }).end()
  })
  const put = async (uploadMark = 'mark'): Promise<void> => {
    const bytes = randomBytes(100_000)
    const path = join(tempFolder(), 'upload')
    writeFileSync(path, bytes)
    const sha256 = createHash('sha256').update(bytes).digest('hex')
    const file = { bytes: bytes.length, sha256 }
    await putObject(client, { bucket: 'bucket', key: 'an1/image', path, file, uploadMark })
  }
  return { put, seen }
}

describe('upload to an object store', () => {
  it('asks the store itself to refuse an existing key and to check the digest', async () => {
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

  it('knows its own object again when the answer to storing it was lost', async () => {
    const { put, seen } = await storeAnswering(['lost', 412, 200], 'mine')
    await put('mine')
    expect(seen.map(({ method }) => method)).toEqual(['PUT', 'PUT', 'HEAD'])
  })

  it('takes an object stored by another meanwhile for what it is', async () => {
    const { put } = await storeAnswering(['lost', 412, 200], 'of another')
    await expect(put('mine')).rejects.toThrow(BlobExistsError)
  })

  it('gives up after four tries, and at once when the store says no', async () => {
    const busy = await storeAnswering([503, 503, 503, 503, 200])
    await expect(busy.put()).rejects.toMatchObject({ $metadata: { httpStatusCode: 503 } })
    expect(busy.seen).toHaveLength(4)
    const denied = await storeAnswering([403, 200])
    await expect(denied.put()).rejects.toMatchObject({ $metadata: { httpStatusCode: 403 } })
    expect(denied.seen).toHaveLength(1)
  })
})
