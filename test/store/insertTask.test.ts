import type { Pool } from 'pg'
import { beforeAll, expect, it } from 'vitest'
import type { Route } from '../../src/domain/tasks/imageRequest.ts'
import { createPool } from '../../src/store/connection/pool.ts'
import {
  createTestAccept,
  createTestCaller,
  generateRequest,
} from '../support/database/testAccept.ts'
import type { TestDatabase } from '../support/database/testDatabase.ts'
import { createTestDatabase } from '../support/database/testDatabase.ts'

let database: TestDatabase
/** Has one connection, so that a transaction can be held open around the statement. */
let pool: Pool

beforeAll(async () => {
  database = await createTestDatabase()
  const { databaseUrl } = database
  pool = createPool({
    databaseUrl,
    applicationName: 'test-insert-task',
    connectionsMax: 1,
    onConnectionError: () => undefined,
  })
  return async () => {
    await pool.end()
    await database.drop()
  }
})

it.each<[Route, string]>([
  // The client gets its 202 after this commit, so the task must be on the disk.
  ['images.tasks', 'on'],
  ['v1beta.asyncGenerateContent', 'on'],
  // The client waits, and the commit that begins the call makes the task durable too.
  ['images.generations', 'off'],
  ['images.edits', 'off'],
  ['v1beta.generateContent', 'off'],
])('accepts %s with synchronous_commit %s', async (route, expected) => {
  const caller = await createTestCaller(database.pool, 100)
  const { accept } = createTestAccept(pool)

  await pool.query('begin')
  await pool.query('set local synchronous_commit = on')
  const accepted = await accept({ caller, request: generateRequest({ route }) })
  const { rows } = await pool.query('show synchronous_commit')
  await pool.query('commit')

  expect(accepted.ok).toBe(true)
  expect(rows).toEqual([{ synchronous_commit: expected }])
})
