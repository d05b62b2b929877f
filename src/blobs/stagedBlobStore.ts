import { text } from 'node:stream/consumers'
import { randomText } from '../domain/ids.ts'
import type { BlobStore, PutOptions } from '../domain/ports/blobStore.ts'
import { BlobExistsError } from '../domain/ports/blobStore.ts'
import type { TempFile, TempFilesDeps } from './tempFiles.ts'
import { createTempFiles } from './tempFiles.ts'

/**
 * The operations that differ between files and S3. A `name` is a valid blob key, or the name under which the
 * store keeps its own random id.
 */
export type BlobBackend = {
  /**
   * Makes a temporary file appear under a name, either completely or not at all. Throws `BlobExistsError` when the
   * name exists.
   */
  readonly publish: (name: string, file: TempFile, options: PutOptions) => Promise<void>
  readonly read: BlobStore['read']
  /** Returns whether there was anything to delete. */
  readonly deletePrefix: (prefix: string) => Promise<boolean>
}

/**
 * Creates a blob store on a backend. It writes content to a temporary file first and then publishes the file.
 * So a key never has incomplete content, and the size and SHA-256 are known before the content is published.
 *
 * A mount or a bucket can be lost while the process runs, and then all blobs seem absent. So before the store
 * reports that a blob is absent, it reads its own id again (`storeId`). If the id is gone or has changed, it throws.
 */
export async function createStagedBlobStore(
  backend: BlobBackend,
  deps: TempFilesDeps,
): Promise<BlobStore> {
  const tempFiles = await createTempFiles(deps)

  async function put(
    name: string,
    content: AsyncIterable<Uint8Array>,
    options: PutOptions,
  ): ReturnType<BlobStore['put']> {
    const file = await tempFiles.write(content, options.signal)
    try {
      await options.after
      await backend.publish(name, file, options)
    } finally {
      await file.remove()
    }
    return { bytes: file.bytes, sha256: file.sha256 }
  }

  let ownId: string | undefined

  /**
   * Returns the id of the store, and creates the id when there is none. Several processes may start at the
   * same time. Each one tries to write an id. Only one write succeeds, and all processes read its id. Only
   * the first call of a process writes: a store whose id is gone later is lost, and must not become a new
   * store.
   */
  async function storeId(): Promise<string> {
    const found = await readText(backend, storeIdName)
    if (found === undefined && ownId !== undefined) throw new Error('The blob store lost its id')
    const id = found ?? (await createStoreId())
    ownId ??= id
    return id
  }

  async function createStoreId(): Promise<string> {
    try {
      await put(storeIdName, oneChunk(randomText(deps.randomBytes, 32)), {})
    } catch (error) {
      if (!(error instanceof BlobExistsError)) throw error
    }
    const written = await readText(backend, storeIdName)
    if (written === undefined) throw new Error('The blob store lost its id right after writing it')
    return written
  }

  async function assertSameStore(): Promise<void> {
    if ((await storeId()) !== ownId) throw new Error('The blob store has the id of another store')
  }

  return {
    put: async (key, content, options) => {
      assertBlobKey(key)
      return await put(key, content, options)
    },
    read: async (key, range) => {
      assertBlobKey(key)
      const found = await backend.read(key, range)
      if (found === undefined) await assertSameStore()
      return found
    },
    deletePrefix: async (prefix) => {
      assertBlobPrefix(prefix)
      if (!(await backend.deletePrefix(prefix))) await assertSameStore()
    },
    storeId,
  }
}

/** The name of the store id. It is not a valid blob key, so no blob can have the same name. */
const storeIdName = '.store-id'

const keyPattern = /^[0-9A-Za-z]+(?:\/[0-9A-Za-z._-]+)*$/
const prefixPattern = /^[0-9A-Za-z]+$/
const keyCharactersMax = 256

/**
 * Throws when a blob key is malformed. Every path and object name is made from such a key. The pattern alone
 * would allow `.` and `..` as later segments, which could lead out of the store's directory, so these are
 * checked too. A malformed key is a bug, because keys are made from random ids.
 */
function assertBlobKey(key: string): void {
  const climbs = key.split('/').some((segment) => /^\.+$/.test(segment))
  if (key.length > keyCharactersMax || !keyPattern.test(key) || climbs) {
    throw new Error('Bug: malformed blob key')
  }
}

/** Throws when a prefix is malformed. A prefix is the first segment of a key: the directory of one upload. */
function assertBlobPrefix(prefix: string): void {
  if (prefix.length > keyCharactersMax || !prefixPattern.test(prefix)) {
    throw new Error('Bug: malformed blob prefix')
  }
}

async function readText(backend: BlobBackend, name: string): Promise<string | undefined> {
  const found = await backend.read(name)
  return found === undefined ? undefined : await text(found.content)
}

async function* oneChunk(text: string): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(Buffer.from(text))
}
