import { randomText } from '../domain/ids.ts'
import type { BlobStore } from '../domain/ports/blobStore.ts'
import { BlobExistsError } from '../domain/ports/blobStore.ts'
import type { TempFile, TempFilesDeps } from './tempFiles.ts'
import { createTempFiles } from './tempFiles.ts'

/** What differs between files and S3. A name is a checked blob key, or the name of the store id. */
export type BlobBackend = {
  /** Makes a temporary file appear under a name, whole or not at all. Throws `BlobExistsError`. */
  readonly publish: (name: string, file: TempFile, signal?: AbortSignal) => Promise<void>
  readonly read: BlobStore['read']
  /** Returns whether there was anything to delete. */
  readonly deletePrefix: (prefix: string) => Promise<boolean>
}

/**
 * The blob store over a backend. Content is written to a local temporary file first and published from
 * there, so that nothing under a key is ever half written, and size and SHA-256 are known beforehand.
 *
 * A mount or a bucket can be lost while the process runs, and all blobs then seem absent. So absence is
 * reported only after the store has answered with the id that it had at first.
 */
export async function createStagedBlobStore(
  backend: BlobBackend,
  deps: TempFilesDeps,
): Promise<BlobStore> {
  const tempFiles = await createTempFiles(deps)

  async function put(
    name: string,
    content: AsyncIterable<Uint8Array>,
    signal?: AbortSignal,
  ): ReturnType<BlobStore['put']> {
    const file = await tempFiles.write(content, signal)
    try {
      await backend.publish(name, file, signal)
    } finally {
      await file.remove()
    }
    return { bytes: file.bytes, sha256: file.sha256 }
  }

  let ownId: string | undefined

  /**
   * Several processes may start at once. Each tries to write an id, and all read the one that won. Only the
   * first call writes: a store whose id is gone later is lost, and must not become a new one.
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
      await put(storeIdName, oneChunk(randomText(deps.randomBytes, 32)))
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
    put: async (key, content, { signal }) => {
      assertBlobKey(key)
      return await put(key, content, signal)
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

/** Not a valid blob key, so no blob can have this name. */
const storeIdName = '.store-id'

const keyPattern = /^[0-9A-Za-z]+(?:\/[0-9A-Za-z._-]+)*$/
const prefixPattern = /^[0-9A-Za-z]+$/
const keyCharactersMax = 256

/**
 * Protects every path and object name made from a blob key. The pattern allows `.` and `..` as later
 * segments, which could leave the directory of the store, so these are refused too. Throws, because keys
 * are made from random ids and a malformed one is a bug.
 */
function assertBlobKey(key: string): void {
  const climbs = key.split('/').some((segment) => /^\.+$/.test(segment))
  if (key.length > keyCharactersMax || !keyPattern.test(key) || climbs) {
    throw new Error('Bug: malformed blob key')
  }
}

/** A prefix is the first segment of a key, the directory of one upload. */
function assertBlobPrefix(prefix: string): void {
  if (prefix.length > keyCharactersMax || !prefixPattern.test(prefix)) {
    throw new Error('Bug: malformed blob prefix')
  }
}

async function readText(backend: BlobBackend, name: string): Promise<string | undefined> {
  const found = await backend.read(name)
  if (found === undefined) return undefined
  const chunks: Uint8Array[] = []
  for await (const chunk of found.content) chunks.push(chunk)
  return Buffer.concat(chunks).toString('utf8')
}

async function* oneChunk(text: string): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(Buffer.from(text))
}
