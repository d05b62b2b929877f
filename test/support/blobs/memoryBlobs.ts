import type { BlobStore } from '../../../src/domain/ports/blobStore.ts'
import { BlobExistsError } from '../../../src/domain/ports/blobStore.ts'
import { streamOf } from '../byteStreams.ts'

/** A blob store in memory, for tests of other parts. */
export type MemoryBlobs = BlobStore & {
  readonly content: Map<string, Buffer>
  /** When set, each `read` returns this many bytes and then throws. */
  breakReadsAfter: number | undefined
}

/** Creates an empty store. */
export function createMemoryBlobs(): MemoryBlobs {
  const content = new Map<string, Buffer>()
  const store: MemoryBlobs = {
    content,
    breakReadsAfter: undefined,
    put: async (...blobs) => {
      const added = blobs.filter(([key]) => !content.has(key))
      for (const [key, bytes] of added) content.set(key, Buffer.from(bytes))
      if (added.length < blobs.length) throw new BlobExistsError('The blob exists already')
    },
    read: async (key, range) => {
      const whole = content.get(key)
      if (whole === undefined) return undefined
      const part = range === undefined ? whole : whole.subarray(range.first, range.last + 1)
      const { breakReadsAfter } = store
      return {
        bytes: part.length,
        close: () => {},
        content:
          breakReadsAfter === undefined
            ? streamOf([part])
            : broken(part.subarray(0, breakReadsAfter)),
      }
    },
    bytesOf: async (key) => content.get(key)?.length,
    deletePrefix: async (prefix) => {
      for (const key of content.keys()) {
        if (key.startsWith(`${prefix}/`)) content.delete(key)
      }
    },
    storeId: async () => 'memory',
  }
  return store
}

async function* broken(part: Uint8Array): AsyncGenerator<Uint8Array> {
  yield part
  await new Promise((resolve) => setTimeout(resolve, 20))
  throw new Error('disk is gone')
}
