import type { RandomBytes } from '../domain/ids.ts'
import { randomText } from '../domain/ids.ts'
import { BlobExistsError } from '../domain/ports/blobStore.ts'

type StoreIdentityDeps = {
  /** Returns the id that is stored, or `undefined` when there is none. */
  readonly read: () => Promise<string | undefined>
  /** Stores an id. Throws `BlobExistsError` when there is one. */
  readonly write: (id: string) => Promise<unknown>
  readonly randomBytes: RandomBytes
}

/** The random id that a blob store keeps beside its blobs. */
export type StoreIdentity = {
  /**
   * Returns the id of the store, and creates it when there is none. Several processes may start at the same time.
   * Each one tries to write an id. Only one write succeeds, and all processes read its id. Only the first call of a
   * process writes: a store whose id is gone later is lost, and must not become a new store.
   */
  readonly storeId: () => Promise<string>
  /** Throws when the store is no longer the one whose id `storeId` returned first. */
  readonly assertSame: () => Promise<void>
}

/**
 * Creates the check that a blob store is still the same. A mount or a bucket can be lost or replaced while the process
 * runs, and then all blobs seem absent. Without this check, lost images would be reported as deleted.
 */
export function createStoreIdentity({
  read,
  write,
  randomBytes,
}: StoreIdentityDeps): StoreIdentity {
  let ownId: string | undefined

  async function storeId(): Promise<string> {
    const found = await read()
    if (found === undefined && ownId !== undefined) throw new Error('The blob store lost its id')
    const id = found ?? (await createId())
    ownId ??= id
    return id
  }

  async function createId(): Promise<string> {
    try {
      await write(randomText(randomBytes, 32))
    } catch (error) {
      if (!(error instanceof BlobExistsError)) throw error
    }
    const written = await read()
    if (written === undefined) throw new Error('The blob store lost its id right after writing it')
    return written
  }

  return {
    storeId,
    assertSame: async () => {
      if ((await storeId()) !== ownId) throw new Error('The blob store has the id of another store')
    },
  }
}
