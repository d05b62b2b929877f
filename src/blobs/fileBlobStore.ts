import { createReadStream } from 'node:fs'
import { link, mkdir, open, rm, stat } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import type { BlobStore } from '../domain/ports/blobStore.ts'
import { BlobExistsError } from '../domain/ports/blobStore.ts'
import { createStagedBlobStore } from './stagedBlobStore.ts'
import type { TempFilesDeps } from './tempFiles.ts'
import { isErrnoCode } from './tempFiles.ts'

type FileBlobStoreDeps = Omit<TempFilesDeps, 'tempDirectory'> & {
  /** Absolute. Created when absent. Names in it that begin with a dot belong to the store. */
  readonly directory: string
}

/**
 * Blobs as files in one directory, which several processes may share. A blob appears under its name only
 * whole: it is written and flushed as a temporary file, the name is linked to the file, and then the
 * directory is flushed. Neither a crash nor a power cut shows half a blob or loses an acknowledged one.
 */
export async function createFileBlobStore(deps: FileBlobStoreDeps): Promise<BlobStore> {
  const { directory, randomBytes, nowMs } = deps
  // In the same directory, because a hard link cannot reach another file system.
  const tempDirectory = join(directory, '.temp')
  return await createStagedBlobStore(
    {
      publish: async (name, file) => await publish(directory, file.path, join(directory, name)),
      read: async (name, range) => await read(join(directory, name), range),
      deletePrefix: async (prefix) => {
        const found = await remove(join(directory, prefix))
        await syncDirectory(directory)
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

async function publish(root: string, tempPath: string, path: string): Promise<void> {
  try {
    await linkInDirectory(tempPath, path).catch(async (error: unknown) => {
      // `deletePrefix` in another process removed the directory just now.
      if (!isErrnoCode(error, 'ENOENT')) throw error
      await linkInDirectory(tempPath, path)
    })
  } catch (error) {
    if (isErrnoCode(error, 'EEXIST')) throw new BlobExistsError('The blob exists already')
    throw error
  }
  await syncUpTo(root, dirname(path))
}

/** `link` refuses an existing name. `rename` would replace the file under the name. */
async function linkInDirectory(tempPath: string, path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  await link(tempPath, path)
}

/** A new name is durable once each directory on the way to it is, because each may be new. */
async function syncUpTo(root: string, directory: string): Promise<void> {
  const segments = relative(root, directory).split(sep).filter(Boolean)
  for (let depth = segments.length; depth >= 0; depth -= 1) {
    await syncDirectory(join(root, ...segments.slice(0, depth)))
  }
}

/** Flushes a directory to the disk. Without that, a power cut may lose the names just made in it. */
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
  // Opened only when read, so that a caller that needs only the size holds no descriptor.
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
