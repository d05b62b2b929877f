import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Environment } from '../../../config.ts'
import { defined } from '../../../domain/defined.ts'
import type { PartProcess } from '../partProcess.ts'
import { logTail, partLogPath, startPart } from '../partProcess.ts'
import type { PidRecord } from '../pidRecord.ts'
import { choosePostgresAccount, commandAs } from './postgresAccount.ts'
import { withPostgres } from './postgresClient.ts'
import {
  clearStalePostmaster,
  initPostgres,
  postgresPassword,
  postgresUser,
} from './postgresData.ts'
import { choosePostgresPlace, postgresDataPath } from './postgresPlace.ts'
import { basicEnvironment } from '../runCommand.ts'
import type { Say } from '../startError.ts'
import { StartError } from '../startError.ts'

export type PostgresOptions = {
  readonly dataDir: string
  readonly port: number
  readonly env: Environment
  readonly pids: PidRecord
  readonly say: Say
  /** False turns fsync off. Only for tests and measurements. */
  readonly durable: boolean
}

/** The running embedded PostgreSQL. */
export type Postgres = {
  readonly process: PartProcess
  readonly port: number
  /** The name of the superuser. */
  readonly user: string
  readonly password: string
  /**
   * Returns the URL of a database, with the superuser and its password. It leads through the Unix socket, if there is
   * one: a call of Darkroom then takes up to a tenth less CPU time than over TCP.
   */
  readonly url: (database: string) => string
}

/** Limit for the start of PostgreSQL. Long enough for crash recovery after a kill. */
const readyTimeoutMs = 120_000
const pollMs = 50
/**
 * How long to wait for the backends of a killed postmaster. They notice its end and stop, usually within a
 * second.
 */
const lingeringTimeoutMs = 20_000
const lingeringPattern =
  /pre-existing shared memory block|lock file "postmaster.pid" already exists/
const stopGraceMs = 15_000

/**
 * Starts PostgreSQL on DATA_DIR. Waits until it answers, which may include crash recovery. When it does not
 * answer, throws `StartError` with the last lines of its log.
 */
export async function startPostgres(options: PostgresOptions): Promise<Postgres> {
  const { dataDir, port, say } = options
  const env = basicEnvironment(options.env)
  const account = await choosePostgresAccount(postgresDataPath(dataDir), env)
  const place = await choosePostgresPlace(dataDir, { account, env, say })
  const password = await postgresPassword(dataDir, place.pgData)
  await clearStalePostmaster(place.pgData)
  await initPostgres(place, account, { password, env })
  const socket = socketPath(place.pgData, port)
  // A killed PostgreSQL leaves this file, and its process id may belong to another program by now.
  if (socket !== undefined) await rm(`${socket}.lock`, { force: true })
  const host = socket === undefined ? loopbackHost : encodeURIComponent(place.pgData)
  const url = (database: string) =>
    `postgres://${postgresUser}:${password}@${host}:${port}/${database}`
  const start = (): Promise<PartProcess> => {
    const postgres = [join(place.binDir, 'postgres'), '-D', place.pgData] as const
    const settings = settingArgs(options, socket === undefined ? '' : quoted(place.pgData))
    const { command, user } = commandAs(account, [...postgres, ...settings])
    const [file, ...args] = command
    return startPart(
      {
        name: 'postgres',
        file,
        args,
        env,
        cwd: '/',
        logPath: partLogPath(dataDir, 'postgres'),
        // To PostgreSQL, SIGINT means a fast shutdown: it ends the sessions and writes a checkpoint.
        stopSignal: 'SIGINT',
        lostSignal: 'SIGINT',
        stopGraceMs,
        ...defined({ user }),
      },
      options.pids,
    )
  }
  const process = await startUntilReady(start, url('postgres'), options)
  return { process, port, user: postgresUser, password, url }
}

const loopbackHost = '127.0.0.1'
/** The kernels' limit for the path of a Unix socket: 107 bytes on Linux, 103 on macOS. */
const socketPathBytesMax = 103

/**
 * Returns the path of PostgreSQL's Unix socket. It is in the data folder, which only its owner and root can enter.
 * Returns `undefined` when the path is too long for a socket.
 */
function socketPath(pgData: string, port: number): string | undefined {
  const path = join(pgData, `.s.PGSQL.${port}`)
  return Buffer.byteLength(path) > socketPathBytesMax ? undefined : path
}

/** Quotes one folder for `unix_socket_directories`, which is a list: a comma separates its folders. */
function quoted(folder: string): string {
  return `"${folder.replaceAll('"', '""')}"`
}

/** Returns the settings of the embedded PostgreSQL, as command line arguments. */
function settingArgs({ port, durable }: PostgresOptions, socketFolders: string): readonly string[] {
  const settings = {
    listen_addresses: loopbackHost,
    port,
    unix_socket_directories: socketFolders,
    unix_socket_permissions: '0700',
    // Enough for Temporal's four services, several APIs and workers, and the CLI together.
    max_connections: 300,
    shared_buffers: '256MB',
    // Makes checkpoints fewer and larger, because image tasks write much data in a short time.
    max_wal_size: '2GB',
    checkpoint_timeout: '10min',
    jit: 'off',
    // Right for a solid-state disk: a page that is read at random costs little more than one that is read in order.
    random_page_cost: 1.1,
    log_min_messages: 'warning',
    // A statement may contain a prompt, and prompts must not appear in logs.
    log_min_error_statement: 'panic',
    log_parameter_max_length_on_error: 0,
    log_timezone: 'UTC',
    timezone: 'UTC',
    ...(durable
      ? { fsync: 'on', synchronous_commit: 'on' }
      : { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }),
  }
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
}

/**
 * Starts PostgreSQL, and starts it again as long as it ends because backends of a killed postmaster still
 * run.
 */
async function startUntilReady(
  start: () => Promise<PartProcess>,
  url: string,
  { dataDir, say }: PostgresOptions,
): Promise<PartProcess> {
  const logPath = partLogPath(dataDir, 'postgres')
  const lingeringEndsAtMs = Date.now() + lingeringTimeoutMs
  for (;;) {
    const process = await start()
    if (await isReady(process, url)) return process
    const tail = logTail(logPath)
    if (!process.hasEnded()) {
      await process.stop()
      throw new StartError(
        `PostgreSQL did not answer within ${readyTimeoutMs / 1000} s. The end of ${logPath}:\n${tail}`,
      )
    }
    const end = await process.ended
    if (!lingeringPattern.test(tail) || Date.now() > lingeringEndsAtMs) {
      throw new StartError(`PostgreSQL ended at start (${end}). The end of ${logPath}:\n${tail}`)
    }
    say('Waiting for the last processes of an earlier PostgreSQL to end…')
    await sleep(1_000)
  }
}

/**
 * Asks PostgreSQL again and again until it answers a query. Returns false when its process ends or the time
 * is over.
 */
async function isReady(process: PartProcess, url: string): Promise<boolean> {
  const endsAtMs = Date.now() + readyTimeoutMs
  while (!process.hasEnded() && Date.now() < endsAtMs) {
    try {
      await withPostgres(url, (client) => client.query('SELECT 1'))
      return true
    } catch {
      await sleep(pollMs)
    }
  }
  return false
}
