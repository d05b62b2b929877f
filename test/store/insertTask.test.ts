import { randomBytes } from 'node:crypto'
import type { Pool } from 'pg'
import { beforeAll, expect, it, beforeEach, describe } from 'vitest'
import type { Caller } from '../../src/domain/accounts/account.ts'
import { newTaskId } from '../../src/domain/ids.ts'
import { NothingWrittenError } from '../../src/domain/ports/nothingWrittenError.ts'
import type { NewTask } from '../../src/domain/ports/taskStore.ts'
import type { Route } from '../../src/domain/tasks/imageRequest.ts'
import { verifyLedger } from '../../src/store/accounts/verifyLedger.ts'
import { createPool } from '../../src/store/connection/pool.ts'
import { createInsertTask } from '../../src/store/tasks/insertTask.ts'
import { insertTasks } from '../../src/store/tasks/insertTasks.ts'
import { balanceOf } from '../support/database/money.ts'
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

it('keeps the span of the client, for a task that is accepted alone or beside others', async () => {
  const caller = await createTestCaller(database.pool, 100)
  const { accept } = createTestAccept(database.pool)
  const sent = watchStatements()
  const spans = ['1', '2', '3', '4'].map((n) => `00-${n.repeat(32)}-${n.repeat(16)}-01`)
  const [first = '', ...others] = spans
  const acceptAs = (traceparent: string) =>
    accept({ caller, request: generateRequest(), traceparent })
  await acceptAs(first)
  await Promise.all(others.map(acceptAs))
  expect(sent).toEqual(['insert-task', 'insert-tasks', 'flush-task'])
  const { rows } = await database.pool.query<{ traceparent: string }>(
    'select traceparent from task where account_id = $1 order by 1',
    [caller.accountId],
  )
  expect(rows.map(({ traceparent }) => traceparent)).toEqual(spans)
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

let caller: Caller

beforeEach(async () => {
  caller = await createTestCaller(database.pool, 100)
})

function newTask(given: Partial<NewTask> = {}): NewTask {
  const request = generateRequest({ size: '1K', quality: 'high' })
  return {
    taskId: newTaskId(randomBytes),
    caller,
    request,
    requestText: Buffer.from(JSON.stringify({ ...request, prompt: 'é "\\u0000" 😀' })),
    fingerprint: randomBytes(32),
    keyDigest: randomBytes(32),
    credits: 10,
    deadlineMs: 600_000,
    hardEndMs: 900_000,
    ...given,
  }
}

async function written(): Promise<Readonly<Record<string, number>>> {
  const { rows } = await database.pool.query(
    `select (select count(*)::int from task where account_id = $1) as tasks,
       (select count(*)::int from ledger where account_id = $1 and kind = 'hold') as holds,
       (select count(*)::int from idempotency_key where account_id = $1) as keys`,
    [caller.accountId],
  )
  return rows[0]
}

/** The row of a task and its hold, without ids and times. */
async function rowsOf(taskId: string): Promise<unknown> {
  const { rows } = await database.pool.query(
    `select to_jsonb(task) - '{task_id,fingerprint,key_digest}'::text[] as task, to_jsonb(ledger) - '{task_id,ledger_id}'::text[] as hold
     from task join ledger using (task_id) where task_id = $1`,
    [taskId],
  )
  const text = JSON.stringify(rows).replaceAll(/"\d{4}-\d\d-\d\dT[^"]*"/g, '"time"')
  return JSON.parse(text.replaceAll(/"(entry_id|id)":\d+/g, '"$1":0'))
}

describe('tasks that are inserted together', () => {
  it('are written as if each were inserted alone', async () => {
    const alone = newTask()
    expect(await createInsertTask(database.pool)(alone)).toMatchObject({ kind: 'inserted' })
    const together = [newTask(), newTask({ taskId: newTaskId(randomBytes) })]
    const inserted = await insertTasks(database.pool, together)
    if (inserted === 'refused') throw new Error('refused')
    expect(Math.abs(inserted.createdAtMs - Date.now())).toBeLessThan(5_000)
    expect(inserted.createdAtMs % 1_000).toBe(0)
    for (const { taskId, fingerprint, keyDigest } of together) {
      expect(await rowsOf(taskId)).toEqual(await rowsOf(alone.taskId))
      const { rows } = await database.pool.query(
        `select fingerprint, idempotency_key.key_digest, deadline_at - created_at = interval '10 minutes'
           and hard_end_at - created_at = interval '15 minutes' as in_time
         from task join idempotency_key using (task_id) where task_id = $1`,
        [taskId],
      )
      expect(rows).toEqual([{ fingerprint, key_digest: keyDigest, in_time: true }])
    }
    expect(await written()).toEqual({ tasks: 3, holds: 3, keys: 3 })
    expect(await balanceOf(database.pool, caller.accountId)).toMatchObject({
      available: 70,
      held: 30,
    })
    expect(await verifyLedger(database.pool)).toEqual([])
  })

  it('are refused when an idempotency key is taken, or stands twice among them', async () => {
    const first = newTask()
    await insertTasks(database.pool, [first, newTask()])
    const again = newTask({ ...first, taskId: newTaskId(randomBytes) })
    expect(await insertTasks(database.pool, [newTask(), again])).toBe('refused')
    const twice = newTask()
    const same = newTask({ ...twice, taskId: newTaskId(randomBytes) })
    expect(await insertTasks(database.pool, [twice, same])).toBe('refused')
    expect(await written()).toEqual({ tasks: 2, holds: 2, keys: 2 })
  })

  it('are refused when the key of one has a budget', async () => {
    await database.pool.query(
      `insert into api_key (key_id, account_id, prefix, pepper_id, secret_hash, budget_credits,
         budget_period) values ($1, $2, 'sk', 'p1', $3, 1000, 'day')`,
      [`key_${caller.accountId}`, caller.accountId, randomBytes(32)],
    )
    const budgeted = { ...caller, keyId: `key_${caller.accountId}` }
    const tasks = [newTask(), newTask({ caller: budgeted })]
    expect(await insertTasks(database.pool, tasks)).toBe('refused')
    expect(await written()).toEqual({ tasks: 0, holds: 0, keys: 0 })
  })

  it('never spend more than the account has, however they come together', async () => {
    const insert = createInsertTask(database.pool)
    const other = createInsertTask(database.pool)
    const results = await Promise.all(
      Array.from({ length: 60 }, (_, n) => (n % 2 === 0 ? insert : other)(newTask({ credits: 3 }))),
    )
    const kinds = results.map(({ kind }) => kind)
    expect(kinds.filter((kind) => kind === 'inserted')).toHaveLength(33)
    expect(kinds.filter((kind) => kind === 'insufficient')).toHaveLength(27)
    expect(await balanceOf(database.pool, caller.accountId)).toMatchObject({
      available: 1,
      held: 99,
    })
    expect(await verifyLedger(database.pool)).toEqual([])
  })
})
