import { createHash } from 'node:crypto'
import { open, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'

export type WrittenFile = { readonly bytes: number; readonly sha256: string }

/**
 * Writes the content to a new file and flushes it to the disk (fsync) before resolving. On any failure,
 * of the disk, of `content` or by abort, the file is gone again and the first error is thrown.
 */
export async function writeTempFile(
  path: string,
  content: AsyncIterable<Uint8Array>,
  signal?: AbortSignal,
): Promise<WrittenFile> {
  const hash = createHash('sha256')
  let bytes = 0
  const file = await open(path, 'wx', 0o600)
  try {
    for await (const chunk of signal === undefined ? content : abortable(content, signal)) {
      hash.update(chunk)
      bytes += chunk.byteLength
      await file.appendFile(chunk)
    }
    await file.sync()
  } catch (error) {
    await rm(path, { force: true })
    throw error
  } finally {
    await file.close()
  }
  return { bytes, sha256: hash.digest('hex') }
}

/**
 * The same content, throwing the signal's reason once it aborts: at once, even while the source is silent
 * (a client that stopped sending), when asking it to end would wait for its next chunk.
 */
async function* abortable(
  content: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const chunks = content[Symbol.asyncIterator]()
  const aborted = Promise.withResolvers<never>()
  // Lost when the content ends first.
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
    chunks.return?.().catch(() => {})
  }
}

/** No upload pauses this long between two chunks: its file belongs to a process that died. */
export const tempFileIdleMsMax = 3_600_000

/**
 * Removes temporary files not written to for `tempFileIdleMsMax`: what crashed processes left. Age and
 * not ownership decides, because several processes, on several machines, may share the directory.
 */
export async function sweepTempFiles(directory: string, nowMs: number): Promise<void> {
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

/** Whether a file system error carries one of these codes, `ENOENT` and the like. */
export function isErrnoCode(error: unknown, ...codes: readonly string[]): boolean {
  return (
    error instanceof Error &&
    'code' in error &&
    typeof error.code === 'string' &&
    codes.includes(error.code)
  )
}
