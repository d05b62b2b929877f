import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, readlinkSync, realpathSync, rmSync } from 'node:fs'
import { chown, mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { processStart } from '../../../../tools/processIdentity.mjs'
import { readSecretFile, writeSecretFile } from '../../secretFile.ts'
import type { PostgresAccount } from './postgresAccount.ts'
import { runAs } from './postgresAccount.ts'
import { StartError } from '../startError.ts'
import { endProcess } from '../stopLingering.ts'

/** The folders of PostgreSQL's programs and of its data. */
export type PostgresPlace = { readonly binDir: string; readonly pgData: string }

/** The superuser of the embedded PostgreSQL. */
export const postgresUser = 'darkroom'

const passwordBytes = 24
const initdbTimeoutMs = 120_000

/**
 * Reads the superuser's password from DATA_DIR/postgres-password. Generates it when the file does not exist.
 * If there is a data folder but no password, throws `StartError`.
 */
export async function postgresPassword(dataDir: string, pgData: string): Promise<string> {
  const path = join(dataDir, 'postgres-password')
  const kept = await readSecretFile(path)
  if (kept !== undefined) return kept
  if (hasPostgresData(pgData)) {
    throw new StartError(
      `${path} is missing or empty, but ${pgData} holds data: restore the file from a backup.`,
    )
  }
  // A hexadecimal text needs no escaping in URLs or in Temporal's configuration.
  const password = randomBytes(passwordBytes).toString('hex')
  await writeSecretFile(path, password)
  return password
}

/**
 * Removes what would prevent PostgreSQL from starting after a kill. Ends a postmaster that still runs on this
 * data folder. Removes a postmaster.pid file whose process id now belongs to another program. Keeps the file
 * when no process has that id, because PostgreSQL uses the file to find backends that are still running.
 *
 * The caller must own the lock of DATA_DIR.
 */
export async function clearStalePostmaster(pgData: string): Promise<void> {
  const path = join(pgData, 'postmaster.pid')
  const pid = readPid(path)
  if (pid === undefined) return
  const start = processStart(pid)
  if (start === undefined) return
  if (worksIn(pid, pgData)) await endProcess({ pid, start }, 'SIGINT')
  else rmSync(path, { force: true })
}

/**
 * Creates the data folder when there is none. initdb works in a draft folder, which is renamed at the end. So
 * a start that was killed during initdb leaves no incomplete data folder. When initdb fails, throws `StartError`
 * with its output.
 */
export async function initPostgres(
  { binDir, pgData }: PostgresPlace,
  account: PostgresAccount,
  { password, env }: { readonly password: string; readonly env: Readonly<Record<string, string>> },
): Promise<void> {
  if (hasPostgresData(pgData)) return
  const draft = `${pgData}.new`
  const passwordFile = `${pgData}.password`
  await rm(draft, { recursive: true, force: true })
  await mkdir(draft, { mode: 0o700, recursive: true })
  await writeFile(passwordFile, `${password}\n`, { mode: 0o600 })
  if (account.kind === 'user') {
    await chown(draft, account.uid, account.gid)
    await chown(passwordFile, account.uid, account.gid)
  }
  try {
    const made = await runAs(
      account,
      [
        join(binDir, 'initdb'),
        `--pgdata=${draft}`,
        `--username=${postgresUser}`,
        `--pwfile=${passwordFile}`,
        '--auth=scram-sha-256',
        '--encoding=UTF8',
        // Sorts text by code point. So neither a locale of this machine nor an upgrade of it can change an
        // index.
        '--locale=C',
        '--locale-provider=builtin',
        '--builtin-locale=C.UTF-8',
      ],
      { env, timeoutMs: initdbTimeoutMs },
    )
    if (!made.ok) throw new StartError(`initdb failed (${made.end}):\n${made.output}`)
    await rm(pgData, { recursive: true, force: true })
    await rename(draft, pgData)
  } finally {
    await rm(passwordFile, { force: true })
  }
}

/** Returns whether the folder contains a database made by initdb. */
export function hasPostgresData(pgData: string): boolean {
  return existsSync(join(pgData, 'PG_VERSION'))
}

function readPid(path: string): number | undefined {
  try {
    const pid = Number(readFileSync(path, 'utf8').split('\n')[0])
    return Number.isInteger(pid) && pid > 1 ? pid : undefined
  } catch {
    return undefined
  }
}

/**
 * Returns whether a process works in this folder, as a postmaster works in its data folder. Returns true on a
 * system without /proc, where this cannot be checked.
 */
function worksIn(pid: number, folder: string): boolean {
  if (process.platform !== 'linux') return true
  try {
    return readlinkSync(`/proc/${pid}/cwd`) === realpathSync(folder)
  } catch {
    return false
  }
}
