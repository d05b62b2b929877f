import { text } from 'node:stream/consumers'
import type { RandomBytes } from '../domain/ids.ts'
import type { BlobStore, NewBlob } from '../domain/ports/blobStore.ts'
import { createStoreIdentity } from './storeIdentity.ts'

/**
 * What differs between files and S3. A `name` is a valid blob key, or the name under which the store keeps its own
 * random id. `put` and `read` do what `BlobStore` says.
 */
export type BlobBackend = {
  readonly put: (blobs: readonly NewBlob[]) => Promise<void>
  readonly read: BlobStore['read']
  /** Returns whether there was anything to delete. */
  readonly deletePrefix: (prefix: string) => Promise<boolean>
}

/**
 * Creates a blob store on a backend. Before the store reports that a blob is absent, it checks that it is still the
 * same store (`storeIdentity.ts`).
 */
export function createBlobStore(backend: BlobBackend, randomBytes: RandomBytes): BlobStore {
  const { storeId, assertSame } = createStoreIdentity({
    read: async () => {
      const found = await backend.read(storeIdName)
      return found === undefined ? undefined : await text(found.content)
    },
    write: (id) => backend.put([[storeIdName, Buffer.from(id)]]),
    randomBytes,
  })
  return {
    put: async (...blobs) => {
      for (const [key] of blobs) assertBlobKey(key)
      await inTime(backend.put(blobs))
    },
    read: async (key, range) => {
      assertBlobKey(key)
      const found = await backend.read(key, range)
      if (found === undefined) await assertSame()
      return found
    },
    deletePrefix: async (prefix) => {
      assertBlobPrefix(prefix)
      if (!(await backend.deletePrefix(prefix))) await assertSame()
    },
    storeId,
  }
}

/**
 * Limit for storing the blobs of one prefix. A store that hangs would otherwise keep the memory of its bytes for ever.
 * Longer than all tries of the S3 client take.
 */
export const putMsMax = 5 * 60_000

async function inTime(put: Promise<void>): Promise<void> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(
    () => late.reject(new Error('The blob store did not store the bytes in time')),
    putMsMax,
  )
  try {
    await Promise.race([put, late.promise])
  } finally {
    clearTimeout(timer)
  }
}

/** The name of the store id. It is not a valid blob key, so no blob can have the same name. */
const storeIdName = '.store-id'

const keyPattern = /^[0-9A-Za-z]{1,128}\/[0-9A-Za-z][0-9A-Za-z._-]{0,127}$/
const prefixPattern = /^[0-9A-Za-z]{1,128}$/

/**
 * Throws when a blob key is malformed. Every path and object name is made from such a key, so no key may lead out of
 * the store. A malformed key is a bug, because keys are made from random ids.
 */
function assertBlobKey(key: string): void {
  if (!keyPattern.test(key)) throw new Error('Bug: malformed blob key')
}

/** Throws when a prefix is malformed. A prefix is the first part of a key: the directory of one upload. */
function assertBlobPrefix(prefix: string): void {
  if (!prefixPattern.test(prefix)) throw new Error('Bug: malformed blob prefix')
}
