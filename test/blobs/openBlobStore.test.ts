import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { openBlobStore } from '../../src/blobs/openBlobStore.ts'

describe('the address of the blob store', () => {
  it.each([
    '',
    'blobs',
    '/var/blobs',
    'http://bucket/prefix',
    's3:///prefix',
    'ftp://x/y',
    'file://blobs/x',
  ])('is refused when it is %j, with a sentence that names the variable', async (url) => {
    await expect(openBlobStore(url, randomBytes)).rejects.toThrow(/^BLOB_STORE must be/)
  })
})
