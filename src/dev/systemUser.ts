import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { chmod, chown, cp, mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import type { Environment } from '../config.ts'
import type { Part } from './child.ts'
import type { Say } from './terminal.ts'
import { runCommand, StartError } from './command.ts'

/** Where PostgreSQL's programs and data are, and as whom they run. */
export type PostgresHome = Pick<Part, 'within' | 'user'> & {
  readonly binDir: string
  readonly pgData: string
}

type SystemUser = { readonly uid: number; readonly gid: number }

/** The system user that is created for PostgreSQL when user namespaces are not allowed. */
const serviceUser = 'darkroom'
/** The folder for programs and data when that user cannot enter the checkout. */
const reachableRoot = '/var/lib/darkroom'
const commandTimeoutMs = 10_000

/** Returns the path of the file that names PostgreSQL's data folder when it is not in DATA_DIR. */
export function pointerPath(dataDir: string): string {
  return join(dataDir, 'postgres-place')
}

/**
 * Returns a home for PostgreSQL as a system user: `owner`, to whom the existing data belongs, or a new one.
 * Programs and data that this user cannot reach are put below /var/lib/darkroom. Throws `StartError` when no
 * user can be made.
 */
export async function homeOfSystemUser(
  { binDir, pgData }: PostgresHome,
  given: {
    readonly dataDir: string
    readonly owner: SystemUser | undefined
    readonly env: Environment
    readonly say: Say
  },
): Promise<PostgresHome> {
  const { dataDir, owner, env, say } = given
  const run = (file: string, args: readonly string[], as?: SystemUser) =>
    runCommand(file, args, { env, user: as, timeoutMs: commandTimeoutMs, cwd: '/' })
  const user = owner ?? (await findOrMakeUser(run))
  const canRun = (await run(join(binDir, 'postgres'), ['--version'], user)).ok
  const home = { binDir: canRun ? binDir : await copyPrograms(binDir), user }
  if (owner !== undefined) return { ...home, pgData }
  const { gid, mode } = statSync(dataDir)
  // Lets the user's group pass through DATA_DIR without listing its files.
  await chown(dataDir, 0, user.gid)
  await chmod(dataDir, 0o710)
  if ((await run('test', ['-x', dataDir], user)).ok) return { ...home, pgData }
  await chown(dataDir, 0, gid)
  await chmod(dataDir, mode)
  // The name is random. When a DATA_DIR is deleted and created again, it must not find the old data. The
  // folder stays root's: otherwise the user could plant links in the place of the files that root writes next
  // to the data.
  const folder = join(reachableRoot, randomBytes(8).toString('hex'))
  await makeReachable(folder)
  await writeFile(pointerPath(dataDir), `${join(folder, 'postgres')}\n`)
  say(`PostgreSQL's own user cannot enter ${dataDir}: its data goes to ${folder}.`)
  return { ...home, pgData: join(folder, 'postgres') }
}

async function findOrMakeUser(
  run: (file: string, args: readonly string[]) => ReturnType<typeof runCommand>,
): Promise<SystemUser> {
  const find = async (): Promise<SystemUser | undefined> => {
    const [, uid, gid] =
      /^uid=(\d+)\S* gid=(\d+)/.exec((await run('id', [serviceUser])).output) ?? []
    return uid === undefined ? undefined : { uid: Number(uid), gid: Number(gid) }
  }
  const found = await find()
  if (found !== undefined) return found
  const options = ['--system', '--user-group', '--no-create-home', '--shell', '/usr/sbin/nologin']
  const made = await run('useradd', [...options, serviceUser])
  const user = await find()
  if (user !== undefined) return user
  throw new StartError(
    'PostgreSQL does not run as root, and this system neither allows user namespaces ' +
      `(unshare --user) nor creates a user for it (useradd: ${made.output || made.end}). ` +
      'Start Darkroom as an ordinary user, or set DATABASE_URL to a PostgreSQL server of your own.',
  )
}

/** Copies PostgreSQL's programs, once per version of their package. Returns the folder of the copies. */
async function copyPrograms(binDir: string): Promise<string> {
  const native = dirname(binDir)
  const manifest: unknown = JSON.parse(readFileSync(join(native, '../package.json'), 'utf8'))
  const { version } = z.object({ version: z.string() }).parse(manifest)
  const target = join(reachableRoot, `postgres-${version}`)
  if (!existsSync(target)) {
    const draft = `${target}.${process.pid}`
    await makeReachable(reachableRoot)
    await cp(native, draft, { recursive: true, verbatimSymlinks: true })
    // The rename fails when another start made the same copy first. That copy is then used.
    await rename(draft, target).catch(() => rm(draft, { recursive: true, force: true }))
  }
  return join(target, 'bin')
}

/** Makes `reachableRoot`, or a folder in it, that every user may pass through, whatever the umask is. */
async function makeReachable(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  for (const path of [reachableRoot, folder]) await chmod(path, 0o711)
}
