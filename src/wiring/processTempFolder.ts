import { lstat, mkdtemp, readdir, rm } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'

type ProcessTempFolder = {
  readonly path: string
  /** Deletes the folder and its content. */
  readonly remove: () => Promise<void>
}

/**
 * Start of the folder's name, before the process number. Folders of processes that no longer run are deleted.
 * Containers that share the parent folder cannot see each other's processes, so each one only deletes folders
 * with its own host's name.
 */
const prefix = `darkroom-${hostname()}-`
const restShape = /^(\d+)-\w{6}$/

/**
 * Makes a folder in `parent` that only the user of this process can enter (mode 0700). The folder's name is
 * random, because every user of the machine may write to `parent`. If the name were known, another user could
 * create the folder first, and read or replace the files in it. Also deletes the folders of processes that
 * were killed.
 */
export async function makeProcessTempFolder(parent: string): Promise<ProcessTempFolder> {
  await deleteFoldersOfDead(parent)
  const path = await mkdtemp(join(parent, `${prefix}${process.pid}-`))
  return { path, remove: async () => await rm(path, { recursive: true, force: true }) }
}

async function deleteFoldersOfDead(parent: string): Promise<void> {
  const names = await readdir(parent).catch((): string[] => [])
  const dead = names.filter((name) => {
    const pid = name.startsWith(prefix) ? restShape.exec(name.slice(prefix.length))?.[1] : undefined
    return pid !== undefined && !isAlive(Number(pid))
  })
  await Promise.allSettled(
    dead.map(async (name) => {
      const path = join(parent, name)
      if (await isOwnFolder(path)) await rm(path, { recursive: true, force: true })
    }),
  )
}

/**
 * Whether the path is a folder of this user, and no link. Root must not delete the folders of other users: a
 * user could put a link in the place of a part of such a folder, and root would delete what is behind it.
 */
async function isOwnFolder(path: string): Promise<boolean> {
  const found = await lstat(path)
  return found.isDirectory() && found.uid === (process.getuid?.() ?? found.uid)
}

/**
 * Returns whether a process with this number runs. Also returns true for a process of another user, and for a
 * later process that got the same number.
 */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return !(error instanceof Error && 'code' in error && error.code === 'ESRCH')
  }
}
