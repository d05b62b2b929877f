import { createHash } from 'node:crypto'
import { readFile, readdir } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from 'pg'
import { Client, DatabaseError } from 'pg'
import { insertAudit } from '../auditRows.ts'

/** One numbered file of `migrations/`. `checksum` is the SHA-256 of its text in lower-case hex. */
type Migration = {
  readonly version: number
  readonly name: string
  readonly sql: string
  readonly checksum: string
}

const migrationsFolder = new URL('migrations/', import.meta.url)
const fileNamePattern = /^(\d{6})\.sql$/
/**
 * Number of the advisory lock that a process takes before it migrates, so that one process migrates at a
 * time. Any fixed number will do.
 */
const advisoryLock = 4_711_001
/** How long to try to get locks. Another process may be migrating, or a long transaction may be using a table. */
const locksTotalMs = 120_000
/**
 * Limit for one wait for a lock. Statements of the running service queue behind a migration that waits for a table.
 * So the migration waits briefly, leaves the queue for `lockPauseMs`, and tries again.
 */
const lockTimeoutMs = 2_000
const lockPauseMs = 1_000
const statementTimeoutMs = 600_000

/**
 * Brings a database to the schema of this checkout. Applies each new file in its own transaction. Never goes
 * back to an older schema. Safe to run in many processes at once. Returns the names of the files that this
 * call applied. Throws when a file has changed since this database applied it, and when PostgreSQL cannot be
 * reached or does not allow a statement.
 */
export async function migrate(options: {
  readonly databaseUrl: string
  /** Who migrates, for the audit: each applied file has a row. */
  readonly actor: string
  /** Default: 15 s. */
  readonly connectTimeoutMs?: number
}): Promise<{ readonly applied: readonly string[] }> {
  const { connectTimeoutMs = 15_000 } = options
  const client = new Client({
    connectionString: options.databaseUrl,
    application_name: 'darkroom-migrate',
    connectionTimeoutMillis: connectTimeoutMs,
    lock_timeout: lockTimeoutMs,
    statement_timeout: statementTimeoutMs,
    query_timeout: statementTimeoutMs + connectTimeoutMs,
    keepAlive: true,
  })
  const migrations = await readMigrations()
  client.on('error', () => {})
  await client.connect()
  try {
    const applied: string[] = []
    for (const migration of migrations) {
      if (await applyWithRetries(client, migration, options.actor)) applied.push(migration.name)
    }
    return { applied }
  } finally {
    await client.end()
  }
}

/** Returns the schema version that this checkout needs, which is the number of its last migration. */
export async function neededSchemaVersion(): Promise<number> {
  return (await migrationNames()).reduce((last, name) => Math.max(last, versionOf(name)), 0)
}

async function applyWithRetries(
  client: Client,
  migration: Migration,
  actor: string,
): Promise<boolean> {
  const endsAtMs = performance.now() + locksTotalMs
  for (;;) {
    try {
      return await applyOnce(client, migration, actor)
    } catch (error) {
      const lockMissed = error instanceof DatabaseError && error.code === lockNotAvailable
      if (!lockMissed || performance.now() + lockPauseMs > endsAtMs) throw error
    }
    await sleep(lockPauseMs)
  }
}

/** SQLSTATE: `lock_timeout` has passed. */
const lockNotAvailable = '55P03'

async function applyOnce(client: Client, migration: Migration, actor: string): Promise<boolean> {
  await client.query('begin')
  try {
    await client.query('select pg_advisory_xact_lock($1)', [advisoryLock])
    await client.query(createTableSql)
    const { rows } = await client.query<{ checksum: string }>(
      'select checksum from schema_migration where version = $1',
      [migration.version],
    )
    const recorded = rows[0]
    if (recorded === undefined) {
      await client.query(migration.sql)
      await client.query(recordSql, [migration.version, migration.name, migration.checksum])
      const change = { action: 'migrate', target: migration.name, params: {} }
      await insertAudit(client, { ...change, actor, outcome: 'done' })
    } else if (recorded.checksum !== migration.checksum) {
      throw new Error(
        `Migration ${migration.name} was changed after this database had applied it. ` +
          'Applied migrations never change: put the change into a new file.',
      )
    }
    await client.query('commit')
    return recorded === undefined
  } catch (error) {
    await client.query('rollback').catch(() => {})
    throw error
  }
}

async function readMigrations(): Promise<readonly Migration[]> {
  const names = await migrationNames()
  return Promise.all(
    names.map(async (name) => {
      const sql = await readFile(new URL(name, migrationsFolder), 'utf8')
      const checksum = createHash('sha256').update(sql).digest('hex')
      return { version: versionOf(name), name, sql, checksum }
    }),
  )
}

async function migrationNames(): Promise<readonly string[]> {
  const names = await readdir(migrationsFolder)
  return names.filter((name) => fileNamePattern.test(name)).toSorted()
}

function versionOf(name: string): number {
  return Number(fileNamePattern.exec(name)?.[1])
}

const createTableSql = `
  create table if not exists schema_migration (
    version integer primary key,
    name text not null,
    checksum text not null,
    applied_at timestamptz not null default now()
  )`

const recordSql = 'insert into schema_migration (version, name, checksum) values ($1, $2, $3)'

/**
 * Throws when the schema is older than this code. The message says what to do. A newer schema is fine,
 * because a migration only adds what new code needs. What old code needs is removed one release later.
 */
export async function requireSchema(pool: Pool): Promise<void> {
  const needed = await neededSchemaVersion()
  const present = await schemaVersion(pool)
  if (present >= needed) return
  throw new Error(
    `The database is at schema version ${present}, this process needs ${needed}. ` +
      'Run `npx darkroom migrate` first.',
  )
}

/** Returns the number of the last migration that this database has applied, or 0 for an empty database. */
export async function schemaVersion(pool: Pool): Promise<number> {
  const table = await pool.query<{ present: boolean }>(
    `select to_regclass('schema_migration') is not null as present`,
  )
  if (table.rows[0]?.present !== true) return 0
  const { rows } = await pool.query<{ version: number }>(
    'select coalesce(max(version), 0) as version from schema_migration',
  )
  return rows[0]?.version ?? 0
}
