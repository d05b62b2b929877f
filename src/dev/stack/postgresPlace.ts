import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { chmod, chown, cp, mkdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Environment } from './environment.ts'
import type { PostgresAccount } from './postgresAccount.ts'
import type { PostgresBinaries } from './postgresBinaries.ts'
import { runCommand } from './runCommand.ts'
import type { Say } from './say.ts'

/** Where a user of PostgreSQL's own keeps what it cannot reach in the checkout. */
const reachableRoot = '/var/lib/darkroom'
const probeTimeoutMs = 10_000

/** Names the data folder when it is not DATA_DIR/postgres. */
const pointerPath = (dataDir: string): string => join(dataDir, 'postgres-place')

/** The data folder of this DATA_DIR as settled by an earlier start, or where it goes by default. */
export const postgresDataPath = (dataDir: string): string => {
  const pointer = pointerPath(dataDir)
  return existsSync(pointer) ? readFileSync(pointer, 'utf8').trim() : join(dataDir, 'postgres')
}

/**
 * Settles where the binaries and the data lie so that the account can reach them. Only a user of
 * PostgreSQL's own may be unable to enter the checkout; its binaries and data then go below
 * /var/lib/darkroom, and DATA_DIR/postgres-place says where.
 */
export const settlePostgresPlace = async (
  dataDir: string,
  account: PostgresAccount,
  binaries: PostgresBinaries,
  { env, say }: { env: Environment; say: Say },
): Promise<{ binDir: string; pgData: string }> => {
  const inPlace = { binDir: join(binaries.root, 'bin'), pgData: postgresDataPath(dataDir) }
  if (account.kind !== 'user') return inPlace
  const can = async (...command: [string, ...string[]]): Promise<boolean> => {
    const [file, ...args] = command
    const user = { uid: account.uid, gid: account.gid }
    return (await runCommand(file, args, { env, timeoutMs: probeTimeoutMs, cwd: '/', user })).ok
  }
  const binDir = (await can(join(inPlace.binDir, 'postgres'), '--version'))
    ? inPlace.binDir
    : await copyBinaries(binaries)
  if (existsSync(join(inPlace.pgData, 'PG_VERSION'))) return { binDir, pgData: inPlace.pgData }
  const canEnter = () => can('test', '-x', dataDir)
  if ((await canEnter()) || (await letIn(dataDir, account.gid, canEnter))) {
    return { binDir, pgData: inPlace.pgData }
  }
  // A name of its own: a DATA_DIR that was deleted and made anew must not find the old data.
  const parent = join(reachableRoot, randomBytes(8).toString('hex'))
  await mkdir(parent, { recursive: true })
  await chown(parent, account.uid, account.gid)
  const pgData = join(parent, 'postgres')
  await writeFile(pointerPath(dataDir), `${pgData}\n`)
  say(`PostgreSQL's own user cannot enter ${dataDir}: its data goes to ${pgData}.`)
  return { binDir, pgData }
}

// DATA_DIR is for root alone; PostgreSQL's group may pass through it without seeing what is in it.
const letIn = async (
  dataDir: string,
  gid: number,
  canEnter: () => Promise<boolean>,
): Promise<boolean> => {
  const before = await stat(dataDir)
  await chown(dataDir, before.uid, gid)
  await chmod(dataDir, 0o710)
  if (await canEnter()) return true
  await chown(dataDir, before.uid, before.gid)
  await chmod(dataDir, before.mode & 0o777)
  return false
}

const copyBinaries = async ({ root, version }: PostgresBinaries): Promise<string> => {
  const target = join(reachableRoot, `postgres-${version}`)
  if (!existsSync(target)) {
    const draft = `${target}.${process.pid}`
    await mkdir(reachableRoot, { recursive: true })
    await chmod(reachableRoot, 0o755)
    await cp(root, draft, { recursive: true, verbatimSymlinks: true })
    await rename(draft, target).catch(() => rm(draft, { recursive: true, force: true }))
  }
  return join(target, 'bin')
}
