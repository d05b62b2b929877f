import { mkdtempSync, rmSync, readdirSync, readlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { Finished } from './useFinished.ts'

/** Makes a folder that is removed when the running test has finished. Concurrent tests give their own hook. */
export function tempFolder(finished: Finished = onTestFinished): string {
  const folder = mkdtempSync(join(tmpdir(), 'darkroom-test-'))
  finished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Counts the files in `folder` that this process holds open, including deleted files. Linux only, as CI is. */
export function openFilesIn(folder: string): number {
  const targets = readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`)
    } catch {
      return ''
    }
  })
  return targets.filter((target) => target.startsWith(folder)).length
}
