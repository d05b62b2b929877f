import { createHash } from 'node:crypto'
import { open, rm } from 'node:fs/promises'
import { abortable } from './abortable.ts'

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
