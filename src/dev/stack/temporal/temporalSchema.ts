import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Client } from 'pg'
import { withPostgres } from '../postgres/postgresClient.ts'
import type { Postgres } from '../postgres/startPostgres.ts'
import { runCommand } from '../runCommand.ts'
import { StartError } from '../startError.ts'

export type SchemaOptions = {
  readonly dataDir: string
  readonly binDir: string
  /** Identifies the version of the tools. The schema is updated once for each version. */
  readonly key: string
  readonly postgres: Omit<Postgres, 'process'>
  readonly env: Readonly<Record<string, string>>
}

/** Temporal's databases, and the name of each one's schema in temporal-sql-tool. */
const temporalDatabases = [
  { name: 'temporal', schema: 'postgresql/v12/temporal' },
  { name: 'temporal_visibility', schema: 'postgresql/v12/visibility' },
] as const

const sqlToolTimeoutMs = 120_000

/**
 * Creates Temporal's databases, and updates their schema to the version of the tools. A database gets its
 * final name only when its schema is complete. So if a start is killed before that, the next start creates
 * the database again. When temporal-sql-tool fails, throws `StartError` with its output.
 */
export async function prepareTemporalDatabases(options: SchemaOptions): Promise<void> {
  const versionPath = join(options.dataDir, 'temporal-schema')
  const existing = await withPostgres(options.postgres.url('postgres'), async (client) => {
    const found = await client.query<{ datname: string }>('SELECT datname FROM pg_database')
    return new Set(found.rows.map((row) => row.datname))
  })
  const isComplete = temporalDatabases.every(({ name }) => existing.has(name))
  if (isComplete && readVersion(versionPath) === options.key) return
  await Promise.all(
    temporalDatabases.map(({ name, schema }) =>
      existing.has(name) ? update(options, name, schema) : create(options, name, schema),
    ),
  )
  await writeFile(versionPath, `${options.key}\n`)
}

async function create(options: SchemaOptions, name: string, schema: string): Promise<void> {
  const { postgres } = options
  const draft = `${name}_new`
  const asAdmin = (work: (client: Client) => Promise<unknown>) =>
    withPostgres(postgres.url('postgres'), work)
  await asAdmin(async (client) => {
    await client.query(`DROP DATABASE IF EXISTS ${draft} WITH (FORCE)`)
    await client.query(`CREATE DATABASE ${draft}`)
  })
  await runSqlTool(options, draft, ['setup-schema', '-v', '0.0'])
  await update(options, draft, schema)
  // The tool recorded the version under the draft name, but later it looks for the final name.
  await withPostgres(postgres.url(draft), (client) =>
    client.query('UPDATE schema_version SET db_name = $1', [name]),
  )
  await asAdmin((client) => client.query(`ALTER DATABASE ${draft} RENAME TO ${name}`))
}

function update(options: SchemaOptions, database: string, schema: string): Promise<void> {
  return runSqlTool(options, database, ['update-schema', '--schema-name', schema])
}

async function runSqlTool(
  { binDir, postgres, env }: SchemaOptions,
  database: string,
  args: readonly string[],
): Promise<void> {
  const connection = ['--ep', '127.0.0.1', '-p', String(postgres.port), '-u', postgres.user]
  const result = await runCommand(
    join(binDir, 'temporal-sql-tool'),
    ['--plugin', 'postgres12_pgx', ...connection, '--db', database, ...args],
    { env: { ...env, SQL_PASSWORD: postgres.password }, timeoutMs: sqlToolTimeoutMs },
  )
  if (!result.ok) {
    throw new StartError(`temporal-sql-tool ${args[0]} failed (${result.end}):\n${result.output}`)
  }
}

function readVersion(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    return undefined
  }
}
