import { link, readFile, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { RandomBytes } from '../domain/ids.ts'
import { randomText } from '../domain/ids.ts'
import { isErrnoCode } from './errnoCode.ts'
import { syncDirectory } from './syncDirectory.ts'
import { writeTempFile } from './writeTempFile.ts'

/**
 * The id that stops two nodes from using different stores (design section 3, `BLOB_STORE`): read, and
 * written at first use. `link` decides between nodes that start together; all read the winner's.
 */
export async function fileStoreId(
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
