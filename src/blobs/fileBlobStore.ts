import { createReadStream } from 'node:fs'
import { link, mkdir, open, readFile, rm, stat } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import type { RandomBytes } from '../domain/ids.ts'
import { randomText } from '../domain/ids.ts'
import type { BlobStore } from '../domain/ports/blobStore.ts'
import { BlobExistsError } from '../domain/ports/blobStore.ts'
import { assertBlobKey, assertBlobPrefix } from './blobKey.ts'
import { isErrnoCode, sweepTempFiles, tempFileIdleMsMax, writeTempFile } from './tempFiles.ts'

type FileBlobStoreDeps = {
  /** Absolute; made when absent. Names beginning with a dot inside it are the store's own. */
  readonly directory: string
  readonly randomBytes: RandomBytes
  /** Epoch milliseconds, compared with file times only. */
  readonly nowMs: () => number
}

/**
 * Blobs as files under one directory, which several processes may share. A blob appears under its name
 * only whole: written and flushed under a temporary name, then linked (`link` refuses an existing name,
 * `rename` would replace it), then the directory flushed, so that neither a crash nor a power cut shows
 * half a blob or forgets one that was acknowledged (design 1.9).
 */
export async function createFileBlobStore(deps: FileBlobStoreDeps): Promise<BlobStore> {
  const { directory, randomBytes, nowMs } = deps
  const tempDirectory = join(directory, '.temp')
  await mkdir(tempDirectory, { recursive: true, mode: 0o700 })
  let sweptAtMs = nowMs()
  await sweepTempFiles(tempDirectory, sweptAtMs)

  const sweepNowAndThen = async (): Promise<void> => {
    if (nowMs() - sweptAtMs < tempFileIdleMsMax) return
    sweptAtMs = nowMs()
    await sweepTempFiles(tempDirectory, sweptAtMs)
  }
  const newTempPath = (): string => join(tempDirectory, randomText(randomBytes, 32))

  return {
    put: async (key, content, { signal }) => {
      assertBlobKey(key)
      await sweepNowAndThen()
      const tempPath = newTempPath()
      const written = await writeTempFile(tempPath, content, signal)
      try {
        await linkDurably(directory, tempPath, join(directory, key))
      } finally {
        await rm(tempPath, { force: true })
      }
      return written
    },
    read: async (key, range) => {
      assertBlobKey(key)
      return await readBlobFile(join(directory, key), range)
    },
    deletePrefix: async (prefix) => {
      assertBlobPrefix(prefix)
      await rm(join(directory, prefix), { recursive: true, force: true, maxRetries: 3 })
      await syncDirectory(directory)
    },
    storeId: async () => await fileStoreId(join(directory, '.store-id'), newTempPath, randomBytes),
  }
}

/** Gives the file its final name. The directory may be swept meanwhile, hence the second try. */
async function linkDurably(root: string, tempPath: string, path: string): Promise<void> {
  const makeName = async (): Promise<void> => {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    await link(tempPath, path)
  }
  try {
    await makeName().catch(async (error: unknown) => {
      if (!isErrnoCode(error, 'ENOENT')) throw error
      await makeName()
    })
  } catch (error) {
    if (isErrnoCode(error, 'EEXIST')) throw new BlobExistsError('The blob exists already')
    throw error
  }
  await syncUpTo(root, dirname(path))
}

/** A new name is durable once every directory on the way to it is: each may have been new. */
async function syncUpTo(root: string, directory: string): Promise<void> {
  const segments = relative(root, directory).split(sep).filter(Boolean)
  for (let depth = segments.length; depth >= 0; depth -= 1) {
    await syncDirectory(join(root, ...segments.slice(0, depth)))
  }
}

async function readBlobFile(
  path: string,
  range?: { readonly first: number; readonly last: number },
): ReturnType<BlobStore['read']> {
  const size = await fileSize(path)
  if (size === undefined) return undefined
  const first = range?.first ?? 0
  const last = Math.min(range?.last ?? size - 1, size - 1)
  const bytes = Math.max(0, last - first + 1)
  // Opened only when read, so that a reader which asks for the size alone holds no descriptor.
  const content = async function* (): AsyncGenerator<Uint8Array> {
    if (bytes > 0) yield* createReadStream(path, { start: first, end: last })
  }
  return { bytes, content: content() }
}

async function fileSize(path: string): Promise<number | undefined> {
  try {
    const found = await stat(path)
    return found.isFile() ? found.size : undefined
  } catch (error) {
    if (isErrnoCode(error, 'ENOENT', 'ENOTDIR')) return undefined
    throw error
  }
}

/**
 * The id that stops two nodes from using different stores (design section 3, `BLOB_STORE`): read, and
 * written at first use. `link` decides between nodes that start together; all read the winner's.
 */
async function fileStoreId(
  path: string,
  newTempPath: () => string,
  randomBytes: RandomBytes,
): Promise<string> {
  const found = await readId(path)
  if (found !== undefined) return found
  const tempPath = newTempPath()
  await writeTempFile(tempPath, oneChunk(Buffer.from(randomText(randomBytes, 32))))
  try {
    await link(tempPath, path)
    await syncDirectory(dirname(path))
  } catch (error) {
    if (!isErrnoCode(error, 'EEXIST')) throw error
  } finally {
    await rm(tempPath, { force: true })
  }
  const written = await readId(path)
  if (written === undefined) throw new Error('The blob store lost its id right after writing it')
  return written
}

async function readId(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (isErrnoCode(error, 'ENOENT')) return undefined
    throw error
  }
}

async function* oneChunk(chunk: Uint8Array): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(chunk)
}

/** Flushes a directory to the disk: without it a power cut may forget the names just made in it. */
async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
