import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Client } from 'pg'
import { withPostgres } from './postgresClient.ts'
import { runCommand } from './runCommand.ts'
import { startFailure } from './startFailure.ts'

/** Temporal's databases, and the name of the schema that its SQL tool has for each. */
const temporalDatabases = [
  { name: 'temporal', schema: 'postgresql/v12/temporal' },
  { name: 'temporal_visibility', schema: 'postgresql/v12/visibility' },
] as const

const sqlToolTimeoutMs = 120_000

/** What setting up Temporal's databases needs. */
export type SchemaOptions = {
  dataDir: string
  binDir: string
  /** Names the version of the tools: the schema is brought up to date once per version. */
  key: string
  postgres: { url: (database: string) => string; port: number; user: string; password: string }
  env: Record<string, string>
}

/**
 * Makes Temporal's databases and brings their schema up to the version of the tools. A database
 * appears under its name only when it is whole, so a start that was killed half-way begins anew.
 */
export const prepareTemporalDatabases = async (options: SchemaOptions): Promise<void> => {
  const stampPath = join(options.dataDir, 'temporal-schema')
  const isCurrent = readStamp(stampPath) === options.key
  const existing = await withPostgres(options.postgres.url('postgres'), async (client) => {
    const found = await client.query<{ datname: string }>('SELECT datname FROM pg_database')
    return new Set(found.rows.map((row) => row.datname))
  })
  if (isCurrent && temporalDatabases.every(({ name }) => existing.has(name))) return
  await Promise.all(
    temporalDatabases.map(({ name, schema }) =>
      existing.has(name) ? update(options, name, schema) : create(options, name, schema),
    ),
  )
  await writeFile(stampPath, `${options.key}\n`)
}

const create = async (options: SchemaOptions, name: string, schema: string): Promise<void> => {
  const draft = `${name}_new`
  const admin = (work: (client: Client) => Promise<unknown>) =>
    withPostgres(options.postgres.url('postgres'), work)
  await admin(async (client) => {
    await client.query(`DROP DATABASE IF EXISTS ${draft} WITH (FORCE)`)
    await client.query(`CREATE DATABASE ${draft}`)
  })
  await sqlTool(options, draft, ['setup-schema', '-v', '0.0'])
  await update(options, draft, schema)
  // The version is recorded under the database's name, and looked for under it.
  await withPostgres(options.postgres.url(draft), (client) =>
    client.query('UPDATE schema_version SET db_name = $1', [name]),
  )
  await admin((client) => client.query(`ALTER DATABASE ${draft} RENAME TO ${name}`))
}

const update = (options: SchemaOptions, database: string, schemaName: string): Promise<void> =>
  sqlTool(options, database, ['update-schema', '--schema-name', schemaName])

const sqlTool = async (
  { binDir, postgres, env }: SchemaOptions,
  database: string,
  args: readonly string[],
): Promise<void> => {
  const connection = ['--ep', '127.0.0.1', '-p', String(postgres.port), '-u', postgres.user]
  const result = await runCommand(
    join(binDir, 'temporal-sql-tool'),
    ['--plugin', 'postgres12_pgx', ...connection, '--db', database, ...args],
    { env: { ...env, SQL_PASSWORD: postgres.password }, timeoutMs: sqlToolTimeoutMs },
  )
  if (!result.ok) {
    throw startFailure(`temporal-sql-tool ${args[0]} failed (${result.end}):\n${result.output}`)
  }
}

const readStamp = (path: string): string | undefined => {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    return undefined
  }
}
