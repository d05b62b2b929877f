import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Launch } from './child.ts'
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
 * Creates Temporal's databases, and updates their schema once for each version of the programs. A file says which
 * version is complete. So if the first start is killed before that, the next one creates them again.
 */
export async function prepareDatabases(
  { binDir, key }: { readonly binDir: string; readonly key: string },
  { port, user, password, url }: Postgres,
  { dataDir }: Launch,
): Promise<void> {
  const versionPath = join(dataDir, 'temporal-schema')
  const version = (await readFile(versionPath, 'utf8').catch(() => '')).trim()
  if (version === key) return
  await Promise.all(temporalDatabases.map(prepare))
  await writeFile(versionPath, `${key}\n`)

  async function prepare({ name, schema }: (typeof temporalDatabases)[number]): Promise<void> {
    if (version === '') {
      await withPostgres(url('postgres'), async (client) => {
        await client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
        await client.query(`CREATE DATABASE ${name}`)
      })
      await sqlTool(name, 'setup-schema', '-v', '0.0')
    }
    await sqlTool(name, 'update-schema', '--schema-name', schema)
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
