import { randomBytes } from 'node:crypto'
import { onTestFinished } from 'vitest'
import type { TestDatabase } from './testDatabase.ts'

/**
 * Returns the address of a test database for a role to which PostgreSQL gives at most `connections`
 * connections. The role ends with the test, whose connections must be closed by then.
 */
export async function limitedUrl(
  { pool, databaseUrl }: Pick<TestDatabase, 'pool' | 'databaseUrl'>,
  connections: number,
): Promise<string> {
  const role = `limited_${randomBytes(8).toString('hex')}`
  await pool.query(`create role ${role} login password 'limited' connection limit ${connections}`)
  onTestFinished(async () => void (await pool.query(`drop role ${role}`)))
  await pool.query(`grant pg_read_all_data, pg_write_all_data to ${role}`)
  const url = new URL(databaseUrl)
  url.username = role
  url.password = 'limited'
  return url.href
}
