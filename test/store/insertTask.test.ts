import type { Pool } from 'pg'
import { beforeAll, expect, it } from 'vitest'
import { NothingWrittenError } from '../../src/domain/ports/nothingWrittenError.ts'
import type { Route } from '../../src/domain/tasks/imageRequest.ts'
import { createPool } from '../../src/store/connection/pool.ts'
import {
  accepted,
  createTestAccept,
  createTestCaller,
  generateRequest,
  keyBytes,
} from '../support/database/testAccept.ts'
import type { TestDatabase } from '../support/database/testDatabase.ts'
import { createTestDatabase } from '../support/database/testDatabase.ts'
import { watchStatements } from '../support/database/watchStatements.ts'

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
  const answer = await accept({ caller, request: generateRequest({ route }) })
  const { rows } = await pool.query('show synchronous_commit')
  await pool.query('commit')

  expect(answer.ok).toBe(true)
  expect(rows).toEqual([{ synchronous_commit: expected }])
})

it('flushes an asynchronous task that was accepted beside others before it is answered', async () => {
  const caller = await createTestCaller(database.pool, 100)
  const { accept, started } = createTestAccept(database.pool)
  const sent = watchStatements()
  const answers = await Promise.all(
    [1, 2, 3].map(() => accept({ caller, request: generateRequest() })),
  )
  expect(answers.map(({ ok }) => ok)).toEqual([true, true, true])
  expect(started).toHaveLength(3)
  expect(sent).toEqual(['insert-tasks', 'flush-task'])
})

it('flushes nothing for synchronous tasks', async () => {
  const caller = await createTestCaller(database.pool, 100)
  const { accept } = createTestAccept(database.pool)
  const sent = watchStatements()
  const request = generateRequest({ route: 'images.generations' })
  await Promise.all([1, 2, 3].map(() => accept({ caller, request })))
  expect(sent).toEqual(['insert-tasks'])
})

it('accepts no task whose insert was undone before it was on disk', async () => {
  const caller = await createTestCaller(database.pool, 100)
  const other = await createTestCaller(database.pool, 100)
  const { accept, started } = createTestAccept(database.pool)
  watchStatements((query) => {
    if (query.name === 'flush-task') query.values = ['task_that_is_gone']
  })
  const request = generateRequest()
  const alone = accept({ caller, request })
  await new Promise((resolve) => setImmediate(resolve))
  const undone = [
    // By the statement for one task, and by the one for several.
    accept({ caller: other, request }),
    accept({ caller, request }),
    accept({ caller, request }),
  ]
  for (const each of await Promise.allSettled(undone)) {
    expect(each).toMatchObject({ reason: expect.any(NothingWrittenError) })
  }
  accepted(await alone)
  expect(started).toHaveLength(1)
})

it('answers a repeated request only when its task is safe on disk', async () => {
  const caller = await createTestCaller(database.pool, 1_000)
  const { accept } = createTestAccept(pool)
  await pool.query('set synchronous_commit = on')
  const input = { caller, request: generateRequest(), idempotencyKey: keyBytes('twice') }
  const { taskId } = accepted(await accept(input))
  await database.pool.query('create table written (n int)')
  for (let n = 0; n < 20; n += 1) {
    const client = await database.pool.connect()
    await client.query('set synchronous_commit = off')
    await client.query('insert into written values ($1)', [n])
    const { rows } = await client.query<{ end: string }>(
      'select pg_current_wal_insert_lsn() as end',
    )
    client.release(true)
    expect(accepted(await accept(input))).toMatchObject({ taskId, replayed: true })
    const flushed = await database.pool.query(
      'select pg_current_wal_flush_lsn() >= $1::pg_lsn as yes',
      [rows[0]?.end],
    )
    expect(flushed.rows).toEqual([{ yes: true }])
  }
})
