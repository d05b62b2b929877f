import { lstat, mkdtemp, readdir, rm } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'

/**
 * Start of the folder's name, before the process number. Containers that share the parent folder cannot see each
 * other's processes, so each one only deletes folders with its own host's name.
 */
const prefix = `darkroom-${hostname()}-`
const restShape = /^(\d+)-\w{6}$/

/**
 * Makes a folder in `parent` that only the user of this process can enter (mode 0700), and deletes the folders of
 * processes that were killed. The folder's name is random, because every user of the machine may write to `parent`:
 * another user could create a folder of a known name first, and read or replace the files in it. `remove` deletes the
 * folder with its content.
 */
export async function makeProcessTempFolder(parent: string) {
  await deleteFoldersOfDead(parent)
  const path = await mkdtemp(join(parent, `${prefix}${process.pid}-`))
  return { path, remove: async () => rm(path, { recursive: true, force: true }) }
}

async function deleteFoldersOfDead(parent: string): Promise<void> {
  for (const name of await readdir(parent).catch(() => [])) {
    const pid = name.startsWith(prefix) && restShape.exec(name.slice(prefix.length))?.[1]
    if (!pid || isAlive(Number(pid))) continue
    const path = join(parent, name)
    // Root must not delete the folders of other users: a user could put a link in the place of a part of such a folder,
    // and root would delete what is behind it.
    const found = await lstat(path).catch(() => undefined)
    if (!found?.isDirectory() || found.uid !== (process.getuid?.() ?? found.uid)) continue
    await rm(path, { recursive: true, force: true }).catch(() => {})
  }
}

/** Also returns true for a process of another user, and for a later process that got the same number. */
function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return !(error instanceof Error && 'code' in error && error.code === 'ESRCH')
  }
}
