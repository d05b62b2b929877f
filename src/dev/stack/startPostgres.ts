import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { basicEnvironment, type Environment } from './environment.ts'
import { initPostgres, postgresUser } from './initPostgres.ts'
import { logTail, partLogPath } from './partLog.ts'
import { startPart, type PartProcess } from './partProcess.ts'
import type { PidRecord } from './pidRecord.ts'
import { choosePostgresAccount, commandAs } from './postgresAccount.ts'
import { postgresBinaries } from './postgresBinaries.ts'
import { withPostgres } from './postgresClient.ts'
import { postgresPassword } from './postgresPassword.ts'
import { postgresDataPath, settlePostgresPlace } from './postgresPlace.ts'
import { postgresSettings } from './postgresSettings.ts'
import type { Say } from './say.ts'
import { clearStalePostmaster } from './stalePostmaster.ts'
import { startFailure } from './startFailure.ts'

/** Crash recovery after a kill may have much to replay. */
const readyTimeoutMs = 120_000
const pollMs = 50
/** Backends of a killed postmaster notice its death and go within moments. */
const lingeringTimeoutMs = 20_000
const lingeringPattern =
  /pre-existing shared memory block|lock file "postmaster.pid" already exists/
const stopGraceMs = 15_000

/** What the embedded PostgreSQL needs. */
export type PostgresOptions = {
  dataDir: string
  port: number
  env: Environment
  pids: PidRecord
  say: Say
  /** False only in tests: no fsync. */
  durable: boolean
}

/** The running embedded PostgreSQL. */
export type Postgres = {
  process: PartProcess
  password: string
  /** The superuser's URL of a database. */
  url: (database: string) => string
}

/**
 * Starts PostgreSQL on DATA_DIR and waits until it answers, crash recovery included. Throws a start
 * failure with the end of its log when it does not come up.
 */
export const startPostgres = async (options: PostgresOptions): Promise<Postgres> => {
  const { dataDir, port, say } = options
  const env = basicEnvironment(options.env)
  const account = await choosePostgresAccount(postgresDataPath(dataDir), env)
  const place = await settlePostgresPlace(dataDir, account, postgresBinaries(), { env, say })
  const password = await postgresPassword(dataDir, place.pgData)
  await clearStalePostmaster(place.pgData)
  await initPostgres(place, account, { password, env })
  const postgres = [join(place.binDir, 'postgres'), '-D', place.pgData] as const
  const settings = postgresSettings(port, options.durable)
  const { command, user } = commandAs(account, [...postgres, ...settings])
  const url = (database: string): string =>
    `postgres://${postgresUser}:${password}@127.0.0.1:${port}/${database}`
  const start = (): Promise<PartProcess> => {
    const [file, ...args] = command
    const logPath = partLogPath(dataDir, 'postgres')
    const shared = { name: 'postgres', env, cwd: '/', logPath, stopGraceMs }
    // SIGINT is PostgreSQL's fast shutdown: it ends sessions and writes a checkpoint.
    const part = { ...shared, file, args, stopSignal: 'SIGINT', lostSignal: 'SIGINT' } as const
    return startPart(user ? { ...part, user } : part, options.pids)
  }
  return { process: await startUntilReady(start, url('postgres'), options), password, url }
}

const startUntilReady = async (
  start: () => Promise<PartProcess>,
  url: string,
  { dataDir, say }: PostgresOptions,
): Promise<PartProcess> => {
  const logPath = partLogPath(dataDir, 'postgres')
  const lingeringUntil = Date.now() + lingeringTimeoutMs
  for (;;) {
    const process = await start()
    if (await isReady(process, url)) return process
    const tail = logTail(logPath)
    if (!process.hasEnded()) {
      await process.stop()
      throw startFailure(`PostgreSQL gave no answer in ${readyTimeoutMs / 1000} s.\n${tail}`)
    }
    const end = await process.ended
    if (!lingeringPattern.test(tail) || Date.now() > lingeringUntil) {
      throw startFailure(`PostgreSQL ended at start (${end}). The end of ${logPath}:\n${tail}`)
    }
    say('Waiting for the last processes of an earlier PostgreSQL to end…')
    await sleep(1000)
  }
}

const isReady = async (process: PartProcess, url: string): Promise<boolean> => {
  const giveUpAt = Date.now() + readyTimeoutMs
  while (!process.hasEnded() && Date.now() < giveUpAt) {
    try {
      await withPostgres(url, (client) => client.query('SELECT 1'))
      return true
    } catch {
      await sleep(pollMs)
    }
  }
  return false
}
