import { randomBytes } from 'node:crypto'
import type { Client } from 'pg'
import { withPostgres } from '../../../src/dev/postgres.ts'
import { createPool } from '../../../src/store/connection/pool.ts'
import { migrate } from '../../../src/store/schema/migrate.ts'
import { embeddedStack } from '../stack/embeddedStack.ts'
import { useOpened } from '../useOpened.ts'

/** A migrated database for one test file. */
export type TestDatabase = Awaited<ReturnType<typeof createTestDatabase>>

const template = 'darkroom_template'
/** Any fixed number: the process that creates the template holds this advisory lock. */
const templateLock = 4_711_777
const connectionsMax = 20

/**
 * Clones the migrated template. The first caller of a run creates the template. No database is dropped: it goes with the
 * data of the run, and PostgreSQL would write a checkpoint first.
 */
export async function createTestDatabase() {
  const { databaseUrl: adminUrl } = await embeddedStack()
  await ensureTemplate(adminUrl)
  const name = `test_${randomBytes(8).toString('hex')}`
  await withPostgres(adminUrl, (client) =>
    client.query(`create database ${name} template ${template}`),
  )
  const databaseUrl = urlOf(adminUrl, name)
  const pool = createPool({
    databaseUrl,
    applicationName: 'test-database',
    connectionsMax,
    onConnectionError: () => undefined,
  })
  return {
    databaseUrl,
    pool,
    close: () => pool.end(),
  }
}

/**
 * Creates a database before the tests of the calling file or `describe`, and closes it after them. The fields can
 * be read from the first test or hook on.
 */
export function useTestDatabase(): Pick<TestDatabase, 'databaseUrl' | 'pool'> {
  return useOpened(createTestDatabase, ({ close }) => close(), ['databaseUrl', 'pool'])
}

function urlOf(adminUrl: string, name: string): string {
  const url = new URL(adminUrl)
  url.pathname = `/${name}`
  return url.href
}

function ensureTemplate(adminUrl: string): Promise<void> {
  return withPostgres(adminUrl, async (client) => {
    if (await exists(client)) return
    await client.query('select pg_advisory_lock($1)', [templateLock])
    // Another process may have created it meanwhile. The lock ends with this connection.
    if (await exists(client)) return
    const draft = `${template}_draft`
    await client.query(`drop database if exists ${draft} with (force)`)
    await client.query(`create database ${draft}`)
    await migrate({ databaseUrl: urlOf(adminUrl, draft), actor: 'cli:test@host' })
    await client.query(`alter database ${draft} rename to ${template}`)
  })
}

async function exists(client: Client): Promise<boolean> {
  const found = await client.query('select 1 from pg_database where datname = $1', [template])
  return found.rowCount === 1
}
