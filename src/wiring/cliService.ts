import type { Pool } from 'pg'
import type { CliService } from '../cli/cliContext.ts'
import { cliActor } from './cliActor.ts'
import type { Config, Environment } from '../config/environment.ts'
import { readConfig } from '../config/environment.ts'
import { databasesOf, reached } from './databases.ts'
import type { TaskView } from '../domain/tasks/task.ts'
import { assetUrl } from '../http/assetUrl.ts'
import type { OperatorParts } from '../operations/operator.ts'
import { createOperatorParts } from './operatorParts.ts'
import { claimStoreId } from '../store/installation.ts'
import { createPool } from '../store/connection/pool.ts'
import { migrate, requireSchema } from '../store/schema/migrate.ts'

/** Limit for connecting. Short, because the CLI must report an unreachable database within 5 s. */
const connectTimeoutMs = 2_000
const connectionsMax = 4
/** Limit for one statement. Long, because `ledger verify` and `key budget` read much of the ledger. */
const statementTimeoutMs = 600_000

/**
 * Creates what the operator's commands work with. It connects when a command asks for something, and the error of a
 * part that cannot be reached names the variable with its address. Temporal, the blob store, calls upstream and the
 * operator's file are loaded only by the commands that use them, because that takes time.
 */
export function createCliService(environment: Environment): CliService {
  const config = readConfig(environment, 'cli')
  const parts: OperatorParts = {
    ...createOperatorParts(config, environment),
    // The default of PUBLIC_URL is not used, because HOST and PORT of the API may be different from those here.
    assetUrl: (task: TaskView) => {
      const { signingKeys, publicUrlGiven } = config
      return signingKeys && publicUrlGiven && assetUrl(task, publicUrlGiven, signingKeys)
    },
  }
  let connected: Promise<Pool> | undefined
  let opened: ReturnType<typeof openOwnBlobs> | undefined
  return {
    parts,
    operator: async () => {
      const pool = await (connected ??= connect(config))
      const openBlobs = async () => (await (opened ??= openOwnBlobs(config, pool))).store
      return { ...parts, pool, openBlobs, actor: cliActor(config.actor) }
    },
    migrate: async () => {
      const session = sessionOf(config)
      const { applied } = await reached(session, () =>
        migrate({
          databaseUrl: session.url,
          actor: cliActor(config.actor),
          connectTimeoutMs,
        }).catch(namingRole(session)),
      )
      if (config.temporalAddress === undefined) return { applied, temporal: undefined }
      const { migrateTemporal } = await import('./operateTemporal.ts')
      return { applied, temporal: await migrateTemporal(config) }
    },
    fetchHistory: async (taskId) =>
      (await import('./operateTemporal.ts')).readHistory(config, taskId),
    replayTask: async (events) => (await import('../temporal/worker/replay.ts')).replayTask(events),
    close: async () => {
      // Who asked for a store that cannot be opened has got its error.
      await opened?.then(
        (blobs) => blobs.close(),
        () => {},
      )
      await (await connected)?.end()
    },
  }
}

/** Connects to PostgreSQL. Throws what to do when it cannot be reached or has the schema of another version. */
async function connect(config: Config): Promise<Pool> {
  const session = sessionOf(config)
  const pool = createPool({
    databaseUrl: session.url,
    applicationName: 'darkroom-cli',
    connectionsMax,
    connectTimeoutMs,
    statementTimeoutMs,
    onConnectionError: () => {},
  })
  try {
    await reached(session, () => requireSchema(pool))
  } catch (error) {
    await pool.end()
    throw error
  }
  return pool
}

/** Opens the blob store that belongs to this database. Throws for any other one. */
async function openOwnBlobs(config: Config, pool: Pool) {
  const blobs = await (await import('./stores.ts')).openBlobs(config)
  try {
    await claimStoreId(pool, blobs.storeId)
    return blobs
  } catch (error) {
    await blobs.close()
    throw error
  }
}

/**
 * Returns the way to PostgreSQL itself: commands run long statements and take locks, so they do not go through a
 * pooler in transaction mode. Throws when DATABASE_URL is not set.
 */
function sessionOf(config: Config) {
  const session = databasesOf(config)?.session
  if (session !== undefined) return session
  throw new Error('DATABASE_URL is not set.')
}

/** SQLSTATE: the role may not do this. */
const insufficientPrivilege = '42501'

/**
 * Returns a function that throws the error again. When the role may not change the schema, the new error names the
 * role and its variable. An operator who sets DATABASE_URL to the owner of the schema may not know that a
 * DATABASE_SESSION_URL of another role is used instead.
 */
function namingRole({ url, variable }: ReturnType<typeof sessionOf>): (error: unknown) => never {
  return (error) => {
    const refused =
      error instanceof Error && 'code' in error && error.code === insufficientPrivilege
    if (!refused) throw error
    const role = decodeURIComponent(new URL(url).username)
    throw new Error(
      `${error.message}, as ${role} (${variable}). Migrate as the role that owns the schema.`,
    )
  }
}
