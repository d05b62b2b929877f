import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { waitForLock, type HeldLock } from '../../../tools/fileLock.mjs'
import { choosePorts } from './choosePorts.ts'
import { findTemporal, type TemporalPrograms } from './findTemporal.ts'
import { keepRunning, type KeptPart } from './keepRunning.ts'
import { createPidRecord, ownIdentity, type PidRecord } from './pidRecord.ts'
import { ensureDatabase } from './postgresClient.ts'
import type { StackOptions } from './stackOptions.ts'
import { startFailure } from './startFailure.ts'
import { startPostgres, type Postgres } from './startPostgres.ts'
import { temporalInnerPorts } from './startTemporal.ts'
import { startTemporalParts, type StackPort } from './startTemporalParts.ts'
import { startWatchdog } from './startWatchdog.ts'
import { stopLingering } from './stopLingering.ts'

/** A start just killed may need this long to be gone. */
const lockTimeoutMs = 3_000
/** Darkroom's own database in the embedded PostgreSQL. */
const darkroomDatabase = 'darkroom'

/** The running embedded stack. */
export type Stack = {
  /** PostgreSQL for Darkroom, as superuser when it is the embedded one. */
  databaseUrl: string
  /** HOST:PORT of Temporal's frontend. */
  temporalAddress: string
  /** Absent when no web interface was started. */
  temporalUiUrl?: string
  /** Ends web interface, Temporal and PostgreSQL, in that order, each within a bounded time. */
  stop: () => Promise<void>
  /** SIGKILL to everything, as a crash; for tests. */
  kill: () => void
  /** The process ids that run now, by part; for tests. */
  pids: () => number[]
}

/**
 * Starts what DATA_DIR holds: PostgreSQL, Temporal on it, and Temporal's web interface; each only
 * where the options name none of the operator's own (design section 3). Parts that die are started
 * again. What an earlier, killed start left running is ended first; nothing is lost by a kill.
 *
 * Throws a start failure, meant for people, when a port is in use, DATA_DIR is in use by another
 * start, or a part does not come up; whatever was started by then is stopped.
 */
export const startStack = async (options: StackOptions): Promise<Stack> => {
  const { dataDir } = options
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  const lock = await lockDataDir(dataDir)
  const owner = ownIdentity()
  const pids = createPidRecord(dataDir, owner)
  let watchdog: { release: () => void } | undefined
  const parts: KeptPart[] = []
  const stop = async (): Promise<void> => {
    for (const part of parts.toReversed()) await part.stop()
    pids.clear()
    watchdog?.release()
    lock.release()
  }
  try {
    const ended = await stopLingering(dataDir)
    if (ended.length > 0) options.say(`Ended what a killed start had left: ${ended.join(', ')}.`)
    const plan = await makePlan(options)
    watchdog = startWatchdog(dataDir, owner, { removeDataDir: !options.durable })
    const postgres = await startPostgresPart(options, { plan, pids, parts })
    await startTemporalIfAny(options, { plan, postgres, pids, parts })
    return {
      ...describeStack(options, plan, postgres),
      stop,
      ...processesOf(parts, { pids, lock }),
    }
  } catch (error) {
    await stop()
    throw error
  }
}

const lockDataDir = async (dataDir: string): Promise<HeldLock> => {
  const path = join(dataDir, 'lock')
  try {
    return await waitForLock(path, { timeoutMs: lockTimeoutMs })
  } catch {
    throw startFailure(
      `DATA_DIR ${dataDir} is in use by another start of Darkroom (${path} names its process). ` +
        'Stop that one, or set DATA_DIR to another folder, and the port variables to free ports.',
    )
  }
}

/** What will be started, and where; settled before anything is. */
type Plan = {
  programs: TemporalPrograms | undefined
  needsPostgres: boolean
  port: (name: StackPort) => number
}

const makePlan = async (options: StackOptions): Promise<Plan> => {
  const { dataDir, ports, databaseUrl, temporalAddress, env, say, withUi } = options
  const temporal = temporalAddress === undefined
  const choose = (needsPostgres: boolean) =>
    choosePorts<StackPort>(dataDir, [
      ...(needsPostgres
        ? [{ name: 'postgres', port: ports.postgres, variable: 'POSTGRES_PORT' } as const]
        : []),
      ...(temporal
        ? [{ name: 'temporal', port: ports.temporal, variable: 'TEMPORAL_PORT' } as const]
        : []),
      ...(temporal && withUi
        ? [{ name: 'temporalUi', port: ports.temporalUi, variable: 'TEMPORAL_UI_PORT' } as const]
        : []),
      ...(temporal ? temporalInnerPorts.map((name) => ({ name, port: 0 })) : []),
    ])
  // Before the build, which may take minutes: a port in use is said at once.
  const needed = databaseUrl === undefined
  const early = await choose(needed)
  const programs = temporal ? await findTemporal(env, say) : undefined
  // Temporal's server never goes into a database that the operator gave us for something else.
  const needsPostgres = needed || programs?.kind === 'server'
  return { programs, needsPostgres, port: needsPostgres === needed ? early : await choose(true) }
}

type Starting = { plan: Plan; pids: PidRecord; parts: KeptPart[] }

const startPostgresPart = async (
  { dataDir, env, say, durable, databaseUrl }: StackOptions,
  { plan, pids, parts }: Starting,
): Promise<Postgres | undefined> => {
  if (!plan.needsPostgres) return undefined
  const port = plan.port('postgres')
  if (databaseUrl !== undefined) {
    say(`PostgreSQL on port ${port} is for Temporal alone: Darkroom's data is in DATABASE_URL.`)
  }
  const start = () => startPostgres({ dataDir, port, env, pids, say, durable })
  let postgres: Postgres | undefined
  const startProcess = async () => {
    postgres = await start()
    return postgres.process
  }
  parts.push(await keepRunning('PostgreSQL', startProcess, say))
  if (postgres === undefined) throw new Error('PostgreSQL was not started')
  if (databaseUrl === undefined) await ensureDatabase(postgres.url('postgres'), darkroomDatabase)
  return postgres
}

const startTemporalIfAny = async (
  options: StackOptions,
  { plan, postgres, pids, parts }: Starting & { postgres: Postgres | undefined },
): Promise<void> => {
  const { programs, port } = plan
  if (programs === undefined) return
  parts.push(...(await startTemporalParts(options, { programs, postgres, port, pids })))
}

const describeStack = (
  { databaseUrl, temporalAddress, withUi }: StackOptions,
  { port }: Plan,
  postgres: Postgres | undefined,
): Pick<Stack, 'databaseUrl' | 'temporalAddress' | 'temporalUiUrl'> => ({
  databaseUrl: databaseUrl ?? postgres?.url(darkroomDatabase) ?? '',
  temporalAddress: temporalAddress ?? `127.0.0.1:${port('temporal')}`,
  ...(temporalAddress === undefined && withUi
    ? { temporalUiUrl: `http://127.0.0.1:${port('temporalUi')}` }
    : {}),
})

const processesOf = (
  parts: readonly KeptPart[],
  { pids, lock }: { pids: PidRecord; lock: HeldLock },
): Pick<Stack, 'kill' | 'pids'> => ({
  kill: () => {
    for (const part of parts) part.kill()
    pids.clear()
    lock.release()
  },
  pids: () => parts.map((part) => part.current().pid),
})
