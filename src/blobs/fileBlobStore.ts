import { link, mkdir, open, rm, stat, unlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { randomText } from '../domain/ids.ts'
import type { BlobStore, ByteRange, FoundBlob } from '../domain/ports/blobStore.ts'
import { BlobExistsError } from '../domain/ports/blobStore.ts'
import type { BlobBackend } from './createBlobStore.ts'
import { createBlobStore } from './createBlobStore.ts'

/**
 * Creates a store that keeps blobs as files in one directory, with a directory in it for each prefix. Several
 * processes may share the directory. Its path is absolute, and it is created when it does not exist. Names in it that
 * begin with a dot belong to the store.
 */
export async function createFileBlobStore(directory: string): Promise<BlobStore> {
  await mkdir(directory, { recursive: true, mode: 0o700 })
  return createBlobStore(fileBackend(directory))
}

function fileBackend(directory: string): BlobBackend {
  return {
    canBeReplaced: true,
    put: async (blobs) => {
      const files = blobs.map(([name, bytes]): NewFile => {
        const path = join(directory, name)
        return { path, bytes, tempPath: join(dirname(path), `.${randomText(32)}`) }
      })
      const folder = dirname(files[0]?.path ?? directory)
      await mkdir(folder, { recursive: true, mode: 0o700 })
      const exists = await writeNew(files)
      // A new name survives a power cut only when its directory is flushed. The name of the folder may be new too.
      await Promise.all([flush(folder), flush(directory)])
      if (exists) throw new BlobExistsError('The blob exists already')
    },
    read: async (name, range) => await read(join(directory, name), range),
    bytesOf: async (name) => await lengthOf(join(directory, name)),
    deletePrefix: async (prefix) => {
      const removed = rm(join(directory, prefix), { recursive: true, maxRetries: 3 })
      const found = await unless(['ENOENT'], removed)
      await flush(directory)
      return found !== false
    },
  }
}

type NewFile = { readonly path: string; readonly bytes: Uint8Array; readonly tempPath: string }

/**
 * Writes files so that each is complete as soon as it has its name: all of them under temporary names that are flushed
 * at the same time, and then linked one after the other. File systems keep the order of changes to one folder. `link`
 * fails when the name exists, where `rename` would replace the file. A crash leaves the temporary names in the folder of
 * the prefix, which is deleted as a whole. Returns whether any file existed.
 */
async function writeNew(files: readonly NewFile[]): Promise<boolean> {
  const flags = { flag: 'wx', mode: 0o600, flush: true }
  const written = await Promise.allSettled(
    files.map(({ tempPath, bytes }) => writeFile(tempPath, bytes, flags)),
  )
  try {
    for (const each of written) if (each.status === 'rejected') throw each.reason
    let exists = false
    for (const { tempPath, path } of files) {
      if ((await unless(['EEXIST'], link(tempPath, path))) === false) exists = true
    }
    return exists
  } finally {
    await Promise.all(files.map(({ tempPath }) => unless(['ENOENT'], unlink(tempPath))))
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

async function lengthOf(path: string): Promise<number | undefined> {
  const file = await unless(['ENOENT', 'ENOTDIR'], stat(path))
  return file !== false && file.isFile() ? file.size : undefined
}

async function read(path: string, range?: ByteRange): Promise<FoundBlob | undefined> {
  const size = await lengthOf(path)
  if (size === undefined) return undefined
  const first = range?.first ?? 0
  const last = Math.min(range?.last ?? size - 1, size - 1)
  const bytes = Math.max(0, last - first + 1)
  // The file is opened only when the content is read, which closes it. So there is nothing else to close.
  const content = readBytes(path, first, bytes)
  return { bytes, content, close: () => {}, ...(range === undefined && { path }) }
}

/** A multiple of three, so that base64 of these pieces needs no byte of the next one. */
const readBytesMax = 126 * 1024

// Not a stream, which would cost more than the read of a small image.
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

/** Resolves to false when the system refuses with one of these codes. */
async function unless<T>(codes: readonly string[], done: Promise<T>): Promise<T | false> {
  try {
    return await done
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (codes.some((known) => known === code)) return false
    throw error
  }
}
