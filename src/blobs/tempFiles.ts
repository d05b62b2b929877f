import { createHash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import { mkdir, open, readdir, rm, stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { PutOptions } from '../domain/ports/blobStore.ts'
import type { RandomBytes } from '../domain/ids.ts'
import { randomText } from '../domain/ids.ts'

export type TempFilesDeps = {
  /** Created when it does not exist. Other processes may use the same directory. */
  readonly tempDirectory: string
  readonly randomBytes: RandomBytes
  /** Returns epoch milliseconds. Compared only with the times of files. */
  readonly nowMs: () => number
}

type TempFiles = {
  /**
   * Writes the content to a new file. Resolves after the file is flushed to the disk (fsync). When the disk
   * or `content` fails, or when `signal` aborts, removes the file and throws the first error.
   */
  readonly write: (content: AsyncIterable<Uint8Array>, options: WriteOptions) => Promise<TempFile>
}

type WriteOptions = Pick<PutOptions, 'signal' | 'sha256'>

export type TempFile = {
  /** A random name that no other file has. */
  readonly name: string
  readonly path: string
  readonly bytes: number
  readonly sha256: string
  /** Removes the file. Does nothing when the file does not exist any more. */
  readonly remove: () => Promise<void>
}

/**
 * A file that nobody has written to for this long is removed. No upload pauses for an hour between two
 * chunks, so an older file belongs to a process that died.
 */
export const tempFileIdleMsMax = 3_600_000

/**
 * Creates the store of temporary files. Removes files that crashed processes left: at once, and later at a
 * write, at most once an hour.
 */
export async function createTempFiles(deps: TempFilesDeps): Promise<TempFiles> {
  const { tempDirectory, randomBytes, nowMs } = deps
  await mkdir(tempDirectory, { recursive: true, mode: 0o700 })
  let sweptAtMs = nowMs()
  await sweep(tempDirectory, sweptAtMs)

  return {
    write: async (content, options) => {
      if (nowMs() - sweptAtMs >= tempFileIdleMsMax) {
        sweptAtMs = nowMs()
        await sweep(tempDirectory, sweptAtMs)
      }
      const name = randomText(randomBytes, 32)
      const path = join(tempDirectory, name)
      const written = await writeFlushed(path, content, options)
      return { name, path, ...written, remove: async () => await remove(path) }
    },
  }
}

/**
 * Removes files that nobody has written to for `tempFileIdleMsMax`. Only the age of a file counts, not its
 * owner, because several processes on several machines may share the directory.
 */
async function sweep(directory: string, nowMs: number): Promise<void> {
  for (const name of await readdir(directory)) {
    const path = join(directory, name)
    try {
      const { mtimeMs } = await stat(path)
      if (nowMs - mtimeMs > tempFileIdleMsMax) await rm(path, { force: true })
    } catch (error) {
      if (!isErrnoCode(error, 'ENOENT')) throw error
    }
  }
}

async function writeFlushed(
  path: string,
  content: AsyncIterable<Uint8Array>,
  { signal, sha256 }: WriteOptions,
): Promise<Pick<TempFile, 'bytes' | 'sha256'>> {
  const hash = createHash('sha256')
  let bytes = 0
  const file = await open(path, 'wx', 0o600)
  try {
    const held: Uint8Array[] = []
    let heldBytes = 0
    for await (const chunk of signal === undefined ? content : untilAborted(content, signal)) {
      if (sha256 === undefined) hash.update(chunk)
      bytes += chunk.byteLength
      held.push(chunk)
      heldBytes += chunk.byteLength
      if (heldBytes < writeBytes) continue
      await writeAll(file, held.splice(0))
      heldBytes = 0
    }
    await writeAll(file, held)
    await file.sync()
  } catch (error) {
    await remove(path)
    throw error
  } finally {
    await file.close()
  }
  return { bytes, sha256: sha256 ?? hash.digest('hex') }
}

/**
 * Chunks are collected up to this size and written together. An image arrives in chunks of a few kilobytes, and each
 * write costs a turn of Node's thread pool.
 */
const writeBytes = 256 * 1024

/** Writes all bytes. One `writev` may write fewer, for example when the disk becomes full. */
async function writeAll(file: FileHandle, chunks: readonly Uint8Array[]): Promise<void> {
  let rest = chunks.filter((chunk) => chunk.byteLength > 0)
  while (rest.length > 0) {
    const { bytesWritten } = await file.writev(rest)
    rest = afterBytes(rest, bytesWritten)
  }
}

function afterBytes(chunks: readonly Uint8Array[], bytes: number): Uint8Array[] {
  let skipped = bytes
  return chunks.flatMap((chunk) => {
    const start = Math.min(skipped, chunk.byteLength)
    skipped -= start
    return start === chunk.byteLength ? [] : [chunk.subarray(start)]
  })
}

/** Removes a file. Uses `unlink`, because `rm` would read the status of the file first. */
async function remove(path: string): Promise<void> {
  try {
    await unlink(path)
  } catch (error) {
    if (!isErrnoCode(error, 'ENOENT')) throw error
  }
}

/**
 * Yields the content. When the signal aborts, throws its reason at once, even if no chunk arrives because a
 * client has stopped sending.
 */
async function* untilAborted(
  content: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const chunks = content[Symbol.asyncIterator]()
  const aborted = Promise.withResolvers<never>()
  // When the content ends first, nobody waits for this promise. Its rejection must not be unhandled.
  aborted.promise.catch(() => {})
  const onAbort = (): void => aborted.reject(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  if (signal.aborted) onAbort()
  try {
    for (;;) {
      const step = await Promise.race([chunks.next(), aborted.promise])
      if (step.done === true) return
      yield step.value
    }
  } finally {
    signal.removeEventListener('abort', onAbort)
    // Not awaited, because `return` waits for the next chunk, which may never arrive.
    chunks.return?.().catch(() => {})
  }
}

/** Returns whether a file system error has one of these codes, such as `ENOENT`. */
export function isErrnoCode(error: unknown, ...codes: readonly string[]): boolean {
  return (
    error instanceof Error &&
    'code' in error &&
    typeof error.code === 'string' &&
    codes.includes(error.code)
  )
}
