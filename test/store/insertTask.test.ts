import type { Pool } from 'pg'
import { beforeAll, expect, it, vi } from 'vitest'
import type { Route } from '../../src/domain/tasks/imageRequest.ts'
import { createPool } from '../../src/store/connection/pool.ts'
import { createSharedFlush } from '../../src/store/connection/sharedFlush.ts'
import { findKeyedTask } from '../../src/store/tasks/idempotencyKey.ts'
import { createInsertTask } from '../../src/store/tasks/insertTask.ts'
import { createTaskStore } from '../../src/wiring/stores.ts'
import {
  createTestAccept,
  createTestCaller,
  generateRequest,
  keyBytes,
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

/** Creates `accept` with a flush that lasts until the test ends it. */
function acceptWithFlush() {
  const flushes: { readonly end: () => void }[] = []
  const flush = () => new Promise<void>((resolve) => void flushes.push({ end: resolve }))
  const store = {
    ...createTaskStore(database.pool),
    insertTask: createInsertTask(database.pool, flush),
    findKeyedTask: (accountId: string, keyDigest: Uint8Array) =>
      findKeyedTask({ pool: database.pool, flush }, accountId, keyDigest),
  }
  return { ...createTestAccept(database.pool, { store }), flushes }
}

it('flushes an asynchronous task that was accepted beside others before it is answered', async () => {
  const caller = await createTestCaller(database.pool, 100)
  const { accept, started, flushes } = acceptWithFlush()
  const answers = [1, 2, 3].map(() => accept({ caller, request: generateRequest() }))
  // The first task is alone when it comes, so its commit waits for the disk.
  await Promise.race(answers)
  await vi.waitFor(() => expect(flushes).toHaveLength(2))
  expect(started).toHaveLength(1)
  for (const { end } of flushes) end()
  expect((await Promise.all(answers)).map(({ ok }) => ok)).toEqual([true, true, true])
  expect(started).toHaveLength(3)
})

it('flushes nothing for synchronous tasks', async () => {
  const caller = await createTestCaller(database.pool, 100)
  const { accept, flushes } = acceptWithFlush()
  const request = generateRequest({ route: 'images.generations' })
  await Promise.all([1, 2, 3].map(() => accept({ caller, request })))
  expect(flushes).toEqual([])
})

it('flushes the task of a repeated request before it is answered', async () => {
  const caller = await createTestCaller(database.pool, 100)
  const { accept, flushes } = acceptWithFlush()
  const input = { caller, request: generateRequest(), idempotencyKey: keyBytes('twice') }
  await accept(input)
  const repeated = accept(input)
  await vi.waitFor(() => expect(flushes).toHaveLength(1))
  const first = await Promise.race([repeated, Promise.resolve('not answered yet')])
  expect(first).toBe('not answered yet')
  flushes[0]?.end()
  expect(await repeated).toMatchObject({ ok: true, value: { replayed: true } })
})

it('a flush makes durable what was committed before without waiting for the disk', async () => {
  const { pool: other } = database
  await other.query(`create table written (n int)`)
  await pool.query('set synchronous_commit = on')
  const flush = createSharedFlush(pool)
  for (let n = 0; n < 20; n += 1) {
    const client = await other.connect()
    await client.query('set synchronous_commit = off')
    await client.query('insert into written values ($1)', [n])
    const { rows } = await client.query<{ end: string }>(
      'select pg_current_wal_insert_lsn() as end',
    )
    client.release()
    await flush()
    const flushed = await other.query('select pg_current_wal_flush_lsn() >= $1::pg_lsn as yes', [
      rows[0]?.end,
    ])
    expect(flushed.rows).toEqual([{ yes: true }])
  }
})
