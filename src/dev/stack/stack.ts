import { join } from 'node:path'
import type { HeldLock } from '../../../tools/fileLock.mjs'
import { waitForLock } from '../../../tools/fileLock.mjs'
import type { Environment } from '../../config.ts'
import { defined } from '../../domain/defined.ts'
import type { KeptPart } from './keepRunning.ts'
import { keepRunning } from './keepRunning.ts'
import type { PidRecord } from './pidRecord.ts'
import { createPidRecord, ownIdentity } from './pidRecord.ts'
import { choosePorts } from './ports.ts'
import { ensureDatabase } from './postgres/postgresClient.ts'
import type { Postgres } from './postgres/startPostgres.ts'
import { startPostgres } from './postgres/startPostgres.ts'
import { makePrivateFolder } from './privateFolder.ts'
import type { Say } from './startError.ts'
import { StartError } from './startError.ts'
import { stopLingering } from './stopLingering.ts'
import type { TemporalPrograms } from './temporal/findTemporal.ts'
import { findTemporal } from './temporal/findTemporal.ts'
import { startTemporal, startTemporalUi } from './temporal/startTemporal.ts'
import type { TemporalInnerPort } from './temporal/temporalServer.ts'
import { temporalInnerPorts } from './temporal/temporalServer.ts'
import type { Watchdog } from './watchdog.ts'
import { startWatchdog } from './watchdog.ts'

export type StackOptions = {
  /** Absolute path of the folder that contains everything the stack stores. */
  readonly dataDir: string
  /**
   * The wanted ports. 0 means any free port. The next start chooses the same port again if it is still free.
   */
  readonly ports: {
    readonly postgres: number
    readonly temporal: number
    readonly temporalUi: number
  }
  /** The operator's own PostgreSQL for Darkroom. When absent, the stack starts one. */
  readonly databaseUrl?: string | undefined
  /** The operator's own Temporal. When absent, the stack starts one. */
  readonly temporalAddress?: string | undefined
  /** Darkroom's namespace. The UI of the started Temporal shows it first. */
  readonly temporalNamespace: string
  /**
   * The environment of this process. `go build` gets all of it. The parts get only PATH and a few more
   * variables.
   */
  readonly env: Environment
  readonly say: Say
  /** Whether to start Temporal's UI. */
  readonly withUi: boolean
  /**
   * False only in tests and measurements. Then PostgreSQL does not use fsync, and DATA_DIR is removed when the stack
   * has stopped or this process is killed.
   */
  readonly durable: boolean
}

/** The running embedded stack. */
export type Stack = {
  /** URL of PostgreSQL for Darkroom. In the embedded PostgreSQL, its user is a superuser. */
  readonly databaseUrl: string
  /** The address (HOST:PORT) that Temporal's clients call. */
  readonly temporalAddress: string
  /** Absent when the stack started no UI. */
  readonly temporalUiUrl?: string
  /** Ends the UI, Temporal and PostgreSQL, in that order. A part that does not end in time gets SIGKILL. */
  readonly stop: () => Promise<void>
  /**
   * Sends SIGKILL to every part. The caller then ends this process. If a part is being started at this moment, the
   * watchdog ends it.
   */
  readonly kill: () => void
  /** Returns the process ids of the parts that run now, in the order of their start. */
  readonly pids: () => readonly number[]
}

type StackPort = 'postgres' | 'temporal' | 'temporalUi' | TemporalInnerPort

/** What the stack will start, and on which ports. */
type Plan = {
  /** `undefined` when the operator has given an address of Temporal. */
  readonly programs: TemporalPrograms | undefined
  readonly needsPostgres: boolean
  readonly port: (name: StackPort) => number
}

/**
 * How long to wait for the lock of DATA_DIR. Long enough for the processes of a start that was just killed to
 * end.
 */
const lockTimeoutMs = 3_000
/** The name of Darkroom's database in the embedded PostgreSQL. */
const darkroomDatabase = 'darkroom'

/**
 * Starts PostgreSQL, Temporal and Temporal's UI on the data in DATA_DIR, except the parts that the operator
 * provides. First ends the parts that a killed start left running. When a part ends without being asked to,
 * starts it again. Even if the parts are killed, no committed data is lost.
 *
 * Throws `StartError` when a port or DATA_DIR is in use, when another user owns DATA_DIR, or when a part does
 * not start. Before that, stops the parts that have already started.
 */
export async function startStack(options: StackOptions): Promise<Stack> {
  const { dataDir, say, env, withUi, durable, temporalAddress } = options
  await makePrivateFolder(dataDir, 'DATA_DIR')
  const lock = await lockDataDir(dataDir)
  const owner = ownIdentity()
  const pids = createPidRecord(dataDir, owner)
  const parts: KeptPart[] = []
  let watchdog: Watchdog | undefined
  const stop = async (): Promise<void> => {
    for (const part of parts.toReversed()) await part.stop()
    pids.clear()
    watchdog?.release()
    lock.release()
  }
  try {
    const ended = await stopLingering(dataDir)
    if (ended.length > 0) say(`Ended what a killed start had left running: ${ended.join(', ')}.`)
    const { programs, needsPostgres, port } = await makePlan(options)
    watchdog = startWatchdog(dataDir, owner, { removeDataDir: !durable })
    const started = needsPostgres ? await keepPostgres(options, port('postgres'), pids) : undefined
    if (started !== undefined) parts.push(started.part)
    const databaseUrl = await darkroomDatabaseUrl(options, started?.postgres)
    if (programs !== undefined) {
      const postgres = started?.postgres
      const namespace = options.temporalNamespace
      const temporal = { dataDir, programs, postgres, port, withUi, namespace, env, pids, say }
      parts.push(await startTemporal(temporal))
      if (withUi && programs.kind === 'server') {
        parts.push(await startTemporalUi(temporal, programs.binDir))
      }
    }
    const hasUi = programs !== undefined && withUi
    return {
      databaseUrl,
      temporalAddress: temporalAddress ?? `127.0.0.1:${port('temporal')}`,
      ...defined({ temporalUiUrl: hasUi ? `http://127.0.0.1:${port('temporalUi')}` : undefined }),
      stop,
      kill: () => {
        for (const part of parts) part.kill()
        // The record stays, because the watchdog reads from it which parts it must end.
        lock.release()
      },
      pids: () => parts.map((part) => part.current().pid),
    }
  } catch (error) {
    await stop()
    throw error
  }
}

async function lockDataDir(dataDir: string): Promise<HeldLock> {
  const path = join(dataDir, 'lock')
  try {
    return await waitForLock(path, { timeoutMs: lockTimeoutMs })
  } catch {
    throw new StartError(
      `DATA_DIR ${dataDir} is in use by another start of Darkroom (${path} names its process). ` +
        'Stop that one, or set DATA_DIR to another folder, and the port variables to free ports.',
    )
  }
}

/** Chooses the ports and finds Temporal. This may take minutes when Go builds Temporal. */
async function makePlan(options: StackOptions): Promise<Plan> {
  const { dataDir, ports, databaseUrl, temporalAddress, env, say, withUi } = options
  const withTemporal = temporalAddress === undefined
  const choose = (withPostgres: boolean) => {
    const wishes = [
      { name: 'postgres', port: ports.postgres, variable: 'POSTGRES_PORT', wanted: withPostgres },
      { name: 'temporal', port: ports.temporal, variable: 'TEMPORAL_PORT', wanted: withTemporal },
      {
        name: 'temporalUi',
        port: ports.temporalUi,
        variable: 'TEMPORAL_UI_PORT',
        wanted: withTemporal && withUi,
      },
      ...temporalInnerPorts.map((name) => ({ name, port: 0, wanted: withTemporal })),
    ] as const
    return choosePorts<StackPort>(
      dataDir,
      wishes.filter(({ wanted }) => wanted),
    )
  }
  const darkroomNeedsPostgres = databaseUrl === undefined
  // Ports are chosen before the build, so that a port in use is reported at once.
  const port = await choose(darkroomNeedsPostgres)
  const programs = withTemporal ? await findTemporal(env, say) : undefined
  // If the operator provides PostgreSQL, it is only for Darkroom. The real Temporal server then needs an
  // embedded PostgreSQL, and its port is chosen now.
  const needsPostgres = darkroomNeedsPostgres || programs?.kind === 'server'
  const chosenBefore = needsPostgres === darkroomNeedsPostgres
  return { programs, needsPostgres, port: chosenBefore ? port : await choose(true) }
}

async function keepPostgres(
  { dataDir, env, say, durable }: StackOptions,
  port: number,
  pids: PidRecord,
): Promise<{ readonly part: KeptPart; readonly postgres: Postgres }> {
  let postgres: Postgres | undefined
  const start = async () => {
    postgres = await startPostgres({ dataDir, port, env, pids, say, durable })
    return postgres.process
  }
  const part = await keepRunning('PostgreSQL', start, say)
  if (postgres === undefined) throw new Error('Bug: PostgreSQL has started')
  return { part, postgres }
}

async function darkroomDatabaseUrl(
  { databaseUrl, say }: StackOptions,
  postgres: Postgres | undefined,
): Promise<string> {
  if (databaseUrl !== undefined) {
    if (postgres !== undefined) {
      const { port } = postgres
      say(`PostgreSQL on port ${port} is for Temporal alone: Darkroom's data is in DATABASE_URL.`)
    }
    return databaseUrl
  }
  if (postgres === undefined) throw new Error('Bug: without DATABASE_URL PostgreSQL is started')
  await ensureDatabase(postgres.url('postgres'), darkroomDatabase)
  return postgres.url(darkroomDatabase)
}
