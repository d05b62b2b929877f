import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'

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
  const measure = async function* (source: AsyncIterable<Uint8Array>) {
    for await (const chunk of source) {
      hash.update(chunk)
      bytes += chunk.byteLength
      yield chunk
    }
  }
  try {
    await pipeline(
      content,
      measure,
      createWriteStream(path, { flags: 'wx', mode: 0o600, flush: true }),
      signal === undefined ? {} : { signal },
    )
  } catch (error) {
    await rm(path, { force: true })
    throw error
  }
  return { bytes, sha256: hash.digest('hex') }
}
