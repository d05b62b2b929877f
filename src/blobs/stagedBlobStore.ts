import { text } from 'node:stream/consumers'
import type { BlobStore, PutOptions } from '../domain/ports/blobStore.ts'
import { createStoreIdentity } from './storeIdentity.ts'
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
 * Before the store reports that a blob is absent, it checks that it is still the same store (`storeIdentity.ts`).
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
    const file = await tempFiles.write(content, options)
    try {
      await options.after
      await backend.publish(name, file, options)
    } finally {
      await file.remove()
    }
    return { bytes: file.bytes, sha256: file.sha256 }
  }

  const { storeId, assertSame } = createStoreIdentity({
    read: () => readText(backend, storeIdName),
    write: (id) => put(storeIdName, oneChunk(id), {}),
    randomBytes: deps.randomBytes,
  })

  return {
    put: async (key, content, options) => {
      assertBlobKey(key)
      return await put(key, content, options)
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
