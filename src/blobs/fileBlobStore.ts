import { link, mkdir, open, rm, stat } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import type { BlobStore } from '../domain/ports/blobStore.ts'
import { BlobExistsError } from '../domain/ports/blobStore.ts'
import { createSharedFlush } from './sharedFlush.ts'
import { createStagedBlobStore } from './stagedBlobStore.ts'
import type { TempFilesDeps } from './tempFiles.ts'
import { isErrnoCode } from './tempFiles.ts'

type FileBlobStoreDeps = Omit<TempFilesDeps, 'tempDirectory'> & {
  /**
   * An absolute path. Created when it does not exist. Names in it that begin with a dot belong to the store.
   */
  readonly directory: string
}

/**
 * Creates a store that keeps blobs as files in one directory. Several processes may share the directory. A
 * blob is written in three steps: to a temporary file that is flushed, then a link from the blob's name to
 * that file, then a flush of the directory. So after a crash or a power cut, no blob is incomplete, and no
 * blob is lost whose write was reported as done. With `flushLater` the third step is left out (see `PutOptions`).
 */
export async function createFileBlobStore(deps: FileBlobStoreDeps): Promise<BlobStore> {
  const { directory, randomBytes, nowMs } = deps
  // Inside the same directory, because a hard link cannot point to another file system.
  const tempDirectory = join(directory, '.temp')
  // The directories of all blobs are names in this one, so that one flush of it serves many blobs.
  const flushRoot = createSharedFlush(() => syncDirectory(directory))
  return await createStagedBlobStore(
    {
      publish: async (name, file, { flushLater }) => {
        const path = join(directory, name)
        await publish(file.path, path)
        if (!flushLater) await Promise.all([flushRoot(), syncBelow(directory, dirname(path))])
      },
      read: async (name, range) => await read(join(directory, name), range),
      deletePrefix: async (prefix) => {
        const found = await remove(join(directory, prefix))
        await flushRoot()
        return found
      },
    },
    { tempDirectory, randomBytes, nowMs },
  )
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

async function publish(tempPath: string, path: string): Promise<void> {
  try {
    await linkInDirectory(tempPath, path).catch(async (error: unknown) => {
      // Another process removed this directory with `deletePrefix` a moment ago. Try once more.
      if (!isErrnoCode(error, 'ENOENT')) throw error
      await linkInDirectory(tempPath, path)
    })
  } catch (error) {
    if (isErrnoCode(error, 'EEXIST')) throw new BlobExistsError('The blob exists already')
    throw error
  }
}

/**
 * Gives the file its name. Uses `link`, because `link` fails when the name exists. `rename` would replace the
 * file that has the name.
 */
async function linkInDirectory(tempPath: string, path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  await link(tempPath, path)
}

/**
 * Flushes every directory from `directory` up to the one below `root`. Each of them may be new, and a new name survives
 * a power cut only when its directory is flushed.
 */
async function syncBelow(root: string, directory: string): Promise<void> {
  const segments = relative(root, directory).split(sep).filter(Boolean)
  const paths = segments.map((_, depth) => join(root, ...segments.slice(0, depth + 1)))
  await Promise.all(paths.map(syncDirectory))
}

/** Flushes a directory to the disk. Without this, a power cut may lose names that were just added to it. */
async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

async function read(
  path: string,
  range?: { readonly first: number; readonly last: number },
): ReturnType<BlobStore['read']> {
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
