import { link, mkdir, open, rm, stat, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { RandomBytes } from '../domain/ids.ts'
import { randomText } from '../domain/ids.ts'
import type { BlobStore, ByteRange, FoundBlob } from '../domain/ports/blobStore.ts'
import { BlobExistsError } from '../domain/ports/blobStore.ts'
import type { BlobBackend } from './blobStore.ts'
import { createBlobStore } from './blobStore.ts'

type FileBlobStoreDeps = {
  /** An absolute path. Created when it does not exist. Names that begin with a dot belong to the store. */
  readonly directory: string
  readonly randomBytes: RandomBytes
}

/**
 * Creates a store that keeps blobs as files in one directory, with a directory in it for each prefix. Several
 * processes may share the directory.
 */
export async function createFileBlobStore(deps: FileBlobStoreDeps): Promise<BlobStore> {
  await mkdir(deps.directory, { recursive: true, mode: 0o700 })
  return createBlobStore(fileBackend(deps), deps.randomBytes)
}

function fileBackend({ directory, randomBytes }: FileBlobStoreDeps): BlobBackend {
  return {
    put: async (name, bytes, { flushLater }) => {
      const path = join(directory, name)
      const folder = dirname(path)
      await mkdir(folder, { recursive: true, mode: 0o700 })
      await writeNew(path, bytes, join(folder, `.${randomText(randomBytes, 32)}`))
      // A new name survives a power cut only when its directory is flushed. The name of the folder may be new too.
      if (flushLater !== true) await Promise.all([flush(folder), flush(directory)])
    },
    read: async (name, range) => await read(join(directory, name), range),
    deletePrefix: async (prefix) => {
      const found = await remove(join(directory, prefix))
      await flush(directory)
      return found
    },
  }
}

/**
 * Writes a file so that it is complete as soon as it has its name: under a temporary name that is flushed and then
 * linked. `link` fails when the name exists, where `rename` would replace the file. A crash leaves the temporary name
 * in the folder of the prefix, which is deleted as a whole.
 */
async function writeNew(path: string, bytes: Uint8Array, tempPath: string): Promise<void> {
  const file = await open(tempPath, 'wx', 0o600)
  try {
    try {
      await file.writeFile(bytes)
      await file.sync()
    } finally {
      await file.close()
    }
    await link(tempPath, path)
  } catch (error) {
    if (isErrnoCode(error, 'EEXIST')) throw new BlobExistsError('The blob exists already')
    throw error
  } finally {
    await unlink(tempPath)
  }
}

async function flush(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Returns false when there was nothing under the path. */
async function remove(path: string): Promise<boolean> {
  try {
    await rm(path, { recursive: true, maxRetries: 3 })
    return true
  } catch (error) {
    if (isErrnoCode(error, 'ENOENT')) return false
    throw error
  }
}

async function read(path: string, range?: ByteRange): Promise<FoundBlob | undefined> {
  const size = await fileSize(path)
  if (size === undefined) return undefined
  const first = range?.first ?? 0
  const last = Math.min(range?.last ?? size - 1, size - 1)
  const bytes = Math.max(0, last - first + 1)
  // The file is opened only when the content is read. A caller that needs only the size keeps no file open.
  return { bytes, content: readBytes(path, first, bytes) }
}

/** A multiple of three, so that base64 of these pieces needs no byte of the next one. */
const readBytesMax = 126 * 1024

/** Reads without a stream, which would cost more than the read of a small image. */
async function* readBytes(path: string, first: number, bytes: number): AsyncGenerator<Uint8Array> {
  if (bytes === 0) return
  const file = await open(path, 'r')
  try {
    for (let done = 0; done < bytes;) {
      const length = Math.min(readBytesMax, bytes - done)
      const buffer = Buffer.allocUnsafeSlow(length)
      const { bytesRead } = await file.read(buffer, 0, length, first + done)
      if (bytesRead === 0) throw new Error('A blob ended before its length')
      done += bytesRead
      yield buffer.subarray(0, bytesRead)
    }
  } finally {
    await file.close()
  }
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

function isErrnoCode(error: unknown, ...codes: readonly string[]): boolean {
  return (
    error instanceof Error &&
    'code' in error &&
    typeof error.code === 'string' &&
    codes.includes(error.code)
  )
}
