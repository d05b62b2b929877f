import { createHash, randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { putObject } from '../../src/blobs/putObject.ts'
import { createS3Client } from '../../src/blobs/s3Client.ts'
import { BlobExistsError } from '../../src/domain/blobStore.ts'
import { collect } from '../support/byteStreams.ts'
import { listen } from '../support/httpServer.ts'
import { tempFolder } from '../support/tempFolder.ts'

/** One answer of the object store: a status, or a connection that breaks once the body was read. */
type Answer = 'lost' | number

type Seen = { readonly method: string; readonly headers: IncomingMessage['headers']; body: Buffer }

/** A store that answers as told, in order: what a real one does only under load or in bad luck. */
async function storeAnswering(answers: readonly Answer[], storedMark?: string) {
  const seen: Seen[] = []
  const left = [...answers]
  const url = await listen((request, response) => {
    void serve(request, response)
  })
  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', headers } = request
    seen.push({ method, headers, body: await collect(request) })
    answer(left.shift() ?? 500, response)
  }
  function answer(next: Answer, response: ServerResponse): void {
    if (next === 'lost') response.destroy()
    else {
      if (storedMark !== undefined) response.setHeader('x-amz-meta-upload', storedMark)
      response.writeHead(next).end()
    }
  }
  vi.stubEnv('AWS_ENDPOINT_URL_S3', url)
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'access')
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret')
  vi.stubEnv('AWS_REGION', 'us-east-1')
  onTestFinished(() => {
    vi.unstubAllEnvs()
  })
  return seen
}

async function put(uploadMark = 'mark'): Promise<void> {
  const bytes = randomBytes(100_000)
  const path = join(tempFolder(), 'upload')
  writeFileSync(path, bytes)
  const file = {
    bytes: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
  }
  const client = createS3Client({ pathStyle: true })
  onTestFinished(() => client.destroy())
  await putObject(client, { bucket: 'bucket', key: 'an1/image', path, file, uploadMark })
}

describe('upload to an object store', () => {
  it('asks the store itself to refuse an existing key and to check the digest', async () => {
    const seen = await storeAnswering([200])
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
      const seen = await storeAnswering(answers)
      await put()
      expect(seen.map(({ method }) => method)).toEqual(answers.map(() => 'PUT'))
      expect(seen.at(-1)?.body.length).toBe(100_000)
    },
  )

  it('knows its own object again when the answer to storing it was lost', async () => {
    const seen = await storeAnswering(['lost', 412, 200], 'mine')
    await put('mine')
    expect(seen.map(({ method }) => method)).toEqual(['PUT', 'PUT', 'HEAD'])
  })

  it('takes an object stored by another meanwhile for what it is', async () => {
    await storeAnswering(['lost', 412, 200], 'of another')
    await expect(put('mine')).rejects.toThrow(BlobExistsError)
  })

  it('gives up after four tries, and at once when the store says no', async () => {
    const busy = await storeAnswering([503, 503, 503, 503, 200])
    await expect(put()).rejects.toMatchObject({ $metadata: { httpStatusCode: 503 } })
    expect(busy).toHaveLength(4)
    const denied = await storeAnswering([403, 200])
    await expect(put()).rejects.toMatchObject({ $metadata: { httpStatusCode: 403 } })
    expect(denied).toHaveLength(1)
  })
})
