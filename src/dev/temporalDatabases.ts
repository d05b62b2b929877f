import { basename, join } from 'node:path'
import { basicEnvironment, runCommand, StartError } from './command.ts'
import type { Postgres } from './postgres.ts'
import { withPostgres } from './postgres.ts'

const sqlToolTimeoutMs = 120_000

/** Temporal's databases, and the name of each one's schema in temporal-sql-tool. */
const temporalDatabases = [
  { name: 'temporal', schema: 'postgresql/v12/temporal' },
  { name: 'temporal_visibility', schema: 'postgresql/v12/visibility' },
] as const

/**
 * Creates Temporal's databases, and updates their schema once for each version of the programs. The comment of a
 * database says which version is complete. So one that a killed start left incomplete is created again, and so is one
 * that was lost: tasks whose run it had get a new run.
 */
export async function prepareDatabases(
  binDir: string,
  { port, user, password, url }: Pick<Postgres, 'port' | 'user' | 'password' | 'url'>,
): Promise<void> {
  const key = basename(binDir)
  await Promise.all(temporalDatabases.map(prepare))

  async function prepare({ name, schema }: (typeof temporalDatabases)[number]): Promise<void> {
    await withPostgres(url('postgres'), async (client) => {
      const { rows } = await client.query<{ version: string | null }>(
        `SELECT shobj_description(oid, 'pg_database') AS version FROM pg_database WHERE datname = $1`,
        [name],
      )
      const version = rows[0]?.version ?? ''
      if (version === key) return
      if (version === '') {
        await client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
        await client.query(`CREATE DATABASE ${name}`)
        await sqlTool(name, 'setup-schema', '-v', '0.0')
      }
      await sqlTool(name, 'update-schema', '--schema-name', schema)
      await client.query(`COMMENT ON DATABASE ${name} IS '${key}'`)
    })
  }

  async function sqlTool(database: string, ...args: readonly string[]): Promise<void> {
    const connection = ['--ep', '127.0.0.1', '-p', String(port), '-u', user, '--db', database]
    const ran = await runCommand(
      join(binDir, 'temporal-sql-tool'),
      ['--plugin', 'postgres12_pgx', ...connection, ...args],
      { env: { ...basicEnvironment(), SQL_PASSWORD: password }, timeoutMs: sqlToolTimeoutMs },
    )
    if (!ran.ok)
      throw new StartError(`temporal-sql-tool ${args[0]} failed (${ran.end}):\n${ran.output}`)
  }
}
