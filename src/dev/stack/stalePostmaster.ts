import { readFileSync, readlinkSync, realpathSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { processStart } from '../../../tools/processIdentity.mjs'
import { endProcess } from './endProcess.ts'

const graceMs = 10_000

/**
 * Ends a postmaster that an earlier start left running on this data folder, and removes a
 * postmaster.pid whose number now belongs to another program: PostgreSQL would refuse to start. A
 * file whose process is dead stays, since PostgreSQL uses it to look for lingering backends.
 *
 * Call it only while holding the lock of DATA_DIR.
 */
export const clearStalePostmaster = async (pgData: string): Promise<void> => {
  const path = join(pgData, 'postmaster.pid')
  const pid = readPid(path)
  if (pid === undefined) return
  const start = processStart(pid)
  if (start === undefined) return
  if (worksIn(pid, pgData)) await endProcess({ pid, start }, { signal: 'SIGINT', graceMs })
  else rmSync(path, { force: true })
}

const readPid = (path: string): number | undefined => {
  try {
    const pid = Number(readFileSync(path, 'utf8').split('\n')[0])
    return Number.isInteger(pid) && pid > 1 ? pid : undefined
  } catch {
    return undefined
  }
}

// A postmaster's working folder is its data folder. Without /proc the file is believed.
const worksIn = (pid: number, folder: string): boolean => {
  if (process.platform !== 'linux') return true
  try {
    return readlinkSync(`/proc/${pid}/cwd`) === realpathSync(folder)
  } catch {
    return false
  }
}
