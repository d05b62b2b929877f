import type { Pool } from 'pg'
import { neededSchemaVersion } from './migrate.ts'

/**
 * A process refuses to work on a schema older than its own code. A newer one is fine: migrations
 * expand first and contract a release later. Throws with what to do.
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

/** The last migration this database has applied; 0 for an empty database. */
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
