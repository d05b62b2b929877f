import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { isErrnoCode } from './errnoCode.ts'

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
