import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Launch } from './child.ts'
import { basicEnvironment, runCommand, StartError } from './child.ts'
import type { Postgres } from './postgres.ts'
import { withPostgres } from './postgres.ts'

const sqlToolTimeoutMs = 120_000

/** Temporal's databases, and the name of each one's schema in temporal-sql-tool. */
const temporalDatabases = [
  { name: 'temporal', schema: 'postgresql/v12/temporal' },
  { name: 'temporal_visibility', schema: 'postgresql/v12/visibility' },
] as const

/**
 * Creates Temporal's databases, and updates their schema once for each version of the programs. A database gets its
 * final name only when its schema is complete. So if a start is killed before that, the next one creates it again.
 */
export async function prepareDatabases(
  { binDir, key }: { readonly binDir: string; readonly key: string },
  { port, user, password, url }: Postgres,
  { dataDir, env }: Launch,
): Promise<void> {
  const sqlTool = async (database: string, ...args: string[]): Promise<void> => {
    const connection = ['--ep', '127.0.0.1', '-p', String(port), '-u', user, '--db', database]
    const ran = await runCommand(
      join(binDir, 'temporal-sql-tool'),
      ['--plugin', 'postgres12_pgx', ...connection, ...args],
      { env: { ...basicEnvironment(env), SQL_PASSWORD: password }, timeoutMs: sqlToolTimeoutMs },
    )
    if (ran.ok) return
    throw new StartError(`temporal-sql-tool ${args[0]} failed (${ran.end}):\n${ran.output}`)
  }
  const query = (database: string, sql: string) =>
    withPostgres(url(database), (client) => client.query<{ name: string }>(sql))
  const prepare = async ({ name, schema }: (typeof temporalDatabases)[number]): Promise<void> => {
    if (existing.has(name)) return sqlTool(name, 'update-schema', '--schema-name', schema)
    const draft = `${name}_new`
    await query('postgres', `DROP DATABASE IF EXISTS ${draft} WITH (FORCE)`)
    await query('postgres', `CREATE DATABASE ${draft}`)
    await sqlTool(draft, 'setup-schema', '-v', '0.0')
    await sqlTool(draft, 'update-schema', '--schema-name', schema)
    // The tool recorded the version under the draft name, but later it looks for the final name.
    await query(draft, `UPDATE schema_version SET db_name = '${name}'`)
    await query('postgres', `ALTER DATABASE ${draft} RENAME TO ${name}`)
  }
  const { rows } = await query('postgres', 'SELECT datname AS name FROM pg_database')
  const existing = new Set(rows.map((row) => row.name))
  const versionPath = join(dataDir, 'temporal-schema')
  const version = await readFile(versionPath, 'utf8').catch(() => '')
  const isComplete = temporalDatabases.every(({ name }) => existing.has(name))
  if (isComplete && version.trim() === key) return
  await Promise.all(temporalDatabases.map(prepare))
  await writeFile(versionPath, `${key}\n`)
}
