import type { Pool } from 'pg'
import { CommandError } from '../cli/answer.ts'
import type { Config } from '../config.ts'
import { defined } from '../domain/defined.ts'
import type { Database } from './databases.ts'
import { databasesOf, reached } from './databases.ts'
import type { Notifier } from '../store/connection/notifier.ts'
import type { AnnounceEnd } from '../store/tasks/announceEnd.ts'

/** Limit for connecting. Short, because the CLI must report an unreachable database within 5 s. */
const connectTimeoutMs = 2_000
const connectionsMax = 4
/** Limit for a statement of `ledger verify` and `key budget`. Long, because they read much of the ledger. */
const ledgerTimeoutMs = 600_000

/**
 * Creates the access of one command to PostgreSQL. It connects when a pool is first used. When PostgreSQL cannot be
 * reached, or its schema is older than this checkout, the error that it throws says what to do.
 */
export function createCliDatabase(config: () => Promise<Config>) {
  const open: Pool[] = []
  const notifiers: Notifier[] = []

  const openPool = async (statementTimeoutMs?: number) => {
    const { createPool } = await import('../store/connection/pool.ts')
    const { requireSchema } = await import('../store/schema/migrate.ts')
    const database = await sessionOf(config)
    const databaseUrl = database.url
    const pool = createPool({
      databaseUrl,
      applicationName: 'darkroom-cli',
      connectionsMax,
      connectTimeoutMs,
      onConnectionError: () => {},
      ...defined({ statementTimeoutMs }),
    })
    open.push(pool)
    await reached(database, () => pool.query('select 1'))
    try {
      await requireSchema(pool)
    } catch (error) {
      throw new CommandError(error instanceof Error ? error.message : 'no schema')
    }
    return pool
  }

  let pool: Promise<Pool> | undefined
  return {
    pool: () => (pool ??= openPool()),
    ledgerPool: () => openPool(ledgerTimeoutMs),
    /** Returns the function that reports an ended task to the processes that wait for it. */
    announceEnd: async (): Promise<AnnounceEnd> => {
      const { createNotifier } = await import('../store/connection/notifier.ts')
      const { createAnnounceEnd } = await import('../store/tasks/announceEnd.ts')
      const notifier = createNotifier({
        databaseUrl: (await sessionOf(config)).url,
        onError: () => {},
      })
      notifiers.push(notifier)
      return createAnnounceEnd(notifier)
    },
    migrate: async () => {
      const { migrate } = await import('../store/schema/migrate.ts')
      const database = await sessionOf(config)
      return reached(database, () =>
        migrate({ databaseUrl: database.url }).catch(namingRole(database)),
      )
    },
    close: async () => {
      await Promise.all(notifiers.map((notifier) => notifier.close()))
      await Promise.all(open.map((each) => each.end()))
    },
  }
}

/**
 * Returns the database `session`: commands run long statements and take locks, so they do not go through a pooler in
 * transaction mode. Throws `CommandError` when DATABASE_URL is not set.
 */
async function sessionOf(config: () => Promise<Config>): Promise<Database> {
  const given = await config()
  const session = databasesOf(given)?.session
  if (session !== undefined) return session
  throw new CommandError(
    `DATABASE_URL is not set, and no \`npm start\` is running on DATA_DIR ${given.dataDir}.`,
  )
}

/** SQLSTATE: the role may not do this. */
const insufficientPrivilege = '42501'

/**
 * Returns a function that throws the error again. When the role may not change the schema, the new error names the
 * role and its variable. An operator who sets DATABASE_URL to the owner of the schema may not know that a
 * DATABASE_SESSION_URL of another role is used instead.
 */
function namingRole({ url, variable }: Database): (error: unknown) => never {
  return (error) => {
    const refused =
      error instanceof Error && 'code' in error && error.code === insufficientPrivilege
    if (!refused) throw error
    const role = decodeURIComponent(new URL(url).username)
    throw new CommandError(
      `${error.message}, as ${role} (${variable}). Migrate as the role that owns the schema.`,
    )
  }
}
