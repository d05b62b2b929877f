import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { createBlobStore, putMsMax } from '../../src/blobs/blobStore.ts'
import { openBlobStore } from '../../src/blobs/openBlobStore.ts'

describe('a blob store that hangs', () => {
  it('ends a put after its limit', async () => {
    vi.useFakeTimers()
    onTestFinished(() => {
      vi.useRealTimers()
    })
    const backend = {
      put: () => new Promise<void>(() => {}),
      read: () => Promise.resolve(undefined),
      deletePrefix: () => Promise.resolve(false),
    }
    const put = createBlobStore(backend).put(['an1/image', Buffer.from('x')])
    await Promise.all([
      expect(put).rejects.toThrow('no answer in'),
      vi.advanceTimersByTimeAsync(putMsMax),
    ])
  })
})

it.each(['blobs', '/var/blobs', 'http://bucket/prefix', 's3:///prefix', 'file://blobs/x'])(
  'the address %j of a blob store is refused with a sentence that names the variable',
  async (url) => {
    await expect(openBlobStore(url)).rejects.toThrow(/^BLOB_STORE must be/)
  },
)
