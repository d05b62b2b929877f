import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { openBlobStore } from '../../src/blobs/openBlobStore.ts'
import { tempFolder } from '../support/tempFolder.ts'

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
    const deps = { randomBytes, nowMs: Date.now, tempDir: tempFolder() }
    await expect(openBlobStore(url, deps)).rejects.toThrow(/^BLOB_STORE must be/)
  })
})
