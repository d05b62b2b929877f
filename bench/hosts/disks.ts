import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, statfsSync } from 'node:fs'
import { until } from '../../test/support/timing.ts'

const diskBytes = 3 * 1024 ** 3

/** Makes a disk in memory that anybody may write, and that is gone with the mount namespace of this process. */
export function makeDisk(folder: string): void {
  mkdirSync(folder)
  const size = `size=${diskBytes},uid=1,gid=1,mode=700`
  execFileSync('mount', ['-t', 'tmpfs', '-o', size, 'none', folder])
}

/** Lets a disk be as large as what is on it, until it is emptied. */
export async function fillDisk(folder: string): Promise<void> {
  const fill = () => {
    const { blocks, bfree, bsize } = statfsSync(folder)
    return resize(folder, (blocks - bfree) * bsize) || undefined
  }
  // Somebody may have written more meanwhile.
  await until('a full disk', fill)
}

export function emptyDisk(folder: string): void {
  resize(folder, diskBytes)
}

function resize(folder: string, bytes: number): boolean {
  const options = ['-o', `remount,size=${bytes}`, folder]
  return spawnSync('mount', options, { stdio: 'ignore' }).status === 0
}
