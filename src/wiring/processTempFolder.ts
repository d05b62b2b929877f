import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'

type ProcessTempFolder = {
  readonly path: string
  /** Removes it with all that lies in it. */
  readonly remove: () => Promise<void>
}

/** With the host's name: containers that share a folder do not see each other's processes. */
const prefix = `darkroom-${hostname()}-`
const restShape = /^(\d+)-\w{6}$/

/**
 * A folder of this process alone (mode 0700) inside `parent`, which everybody on the machine may write to:
 * under a fixed name another user could make it first, and read or swap what is on its way. Folders whose
 * process was killed are removed, so that they do not add up.
 */
export async function makeProcessTempFolder(parent: string): Promise<ProcessTempFolder> {
  await sweepDead(parent)
  const path = await mkdtemp(join(parent, `${prefix}${process.pid}-`))
  return { path, remove: async () => await rm(path, { recursive: true, force: true }) }
}

async function sweepDead(parent: string): Promise<void> {
  const names = await readdir(parent).catch((): string[] => [])
  const dead = names.filter((name) => {
    const pid = name.startsWith(prefix) ? restShape.exec(name.slice(prefix.length))?.[1] : undefined
    return pid !== undefined && !isAlive(Number(pid))
  })
  // Another user's stay: the system refuses to remove them.
  await Promise.allSettled(
    dead.map((name) => rm(join(parent, name), { recursive: true, force: true })),
  )
}

/** A process of another user counts as alive, as does whatever took the number since. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return !(error instanceof Error && 'code' in error && error.code === 'ESRCH')
  }
}
