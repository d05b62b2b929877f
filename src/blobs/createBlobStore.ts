import { text } from 'node:stream/consumers'
import { randomText } from '../domain/ids.ts'
import type { BlobStore, NewBlob } from '../domain/ports/blobStore.ts'
import { BlobExistsError } from '../domain/ports/blobStore.ts'
import { withTimeout } from '../domain/withTimeout.ts'

/**
 * What differs between files and S3. A `name` is a valid blob key, or the name under which the store keeps its own
 * random id. `put`, `read` and `bytesOf` do what `BlobStore` says.
 */
export type BlobBackend = {
  readonly put: (blobs: readonly NewBlob[]) => Promise<void>
  readonly read: BlobStore['read']
  readonly bytesOf: BlobStore['bytesOf']
  /** Returns whether there was anything to delete. */
  readonly deletePrefix: (prefix: string) => Promise<boolean>
  /** It may be a mount: when that is lost, the folder below it takes blobs too. */
  readonly canBeReplaced?: true
}

/**
 * Creates a blob store on a backend. Before the store reports that a blob is absent, it checks that it is still the
 * same store: a mount or a bucket can be lost or replaced while the process runs, and then all blobs seem absent. What is
 * written into the folder below a lost mount would be lost too, so a put checks it first.
 */
export function createBlobStore(backend: BlobBackend): BlobStore {
  let ownId: string | undefined

  async function readId(): Promise<string | undefined> {
    const found = await backend.read(storeIdName)
    return found === undefined ? undefined : await text(found.content)
  }

  /**
   * Several processes may start at the same time. Each one tries to write an id, one write succeeds, and all read its
   * id. Only the first call of a process writes: a store whose id is gone later is lost, and must not become a new one.
   */
  async function storeId(): Promise<string> {
    let id = await readId()
    if (id === undefined && ownId === undefined) {
      await backend.put([[storeIdName, Buffer.from(randomText(32))]]).catch(ifNew)
      id = await readId()
    }
    if (id === undefined) throw new Error('The blob store lost its id')
    ownId ??= id
    return id
  }

  async function assertSame(): Promise<void> {
    if ((await storeId()) !== ownId) throw new Error('The blob store has the id of another store')
  }

  return {
    put: async (...blobs) => {
      for (const [key] of blobs) assertBlobKey(key)
      await withTimeout(putMsMax, async () => {
        if (backend.canBeReplaced && ownId !== undefined) await assertSame()
        await backend.put(blobs)
      })
    },
    read: async (key, range) => {
      assertBlobKey(key)
      const found = await backend.read(key, range)
      if (found === undefined) await assertSame()
      return found
    },
    bytesOf: async (key) => {
      assertBlobKey(key)
      const bytes = await backend.bytesOf(key)
      if (bytes === undefined) await assertSame()
      return bytes
    },
    deletePrefix: async (prefix) => {
      assertBlobPrefix(prefix)
      if (!(await backend.deletePrefix(prefix))) await assertSame()
    },
    storeId,
  }
}

function ifNew(error: unknown): void {
  if (!(error instanceof BlobExistsError)) throw error
}

/**
 * Limit for storing the blobs of one prefix. A store that hangs would otherwise keep the memory of its bytes for ever.
 * Longer than all tries of the S3 client take.
 */
export const putMsMax = 5 * 60_000

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
