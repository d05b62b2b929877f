import { readdirSync, readlinkSync } from 'node:fs'

/** How many files below `folder` this process holds open, nameless ones too. Linux only, as CI is. */
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
