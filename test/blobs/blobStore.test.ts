import { randomBytes } from 'node:crypto'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { createBlobStore, putMsMax } from '../../src/blobs/blobStore.ts'

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
    const put = createBlobStore(backend, randomBytes).put(['an1/image', Buffer.from('x')])
    await Promise.all([
      expect(put).rejects.toThrow('no answer in'),
      vi.advanceTimersByTimeAsync(putMsMax),
    ])
  })
})
