import { describe, expect, it, onTestFinished } from 'vitest'
import { defined } from '../../src/domain/defined.ts'
import { openMessages } from '../../src/store/connection/messages.ts'
import { createTaskEnds } from '../../src/store/tasks/taskEnds.ts'
import { createAwaitEnd } from '../../src/tasks/awaitEnd.ts'
import { createTaskStore } from '../../src/store/tasks/taskStore.ts'
import { insertTask } from '../support/database/insertTask.ts'
import { createTestAttempts } from '../support/database/testAttempts.ts'
import { useTestDatabase } from '../support/database/testDatabase.ts'

const database = useTestDatabase()

const failure = { code: 'upstream_error', cause: 'unknown', workPossible: true } as const

/** With a `pollMs` longer than the test, only notifications can wake. */
async function createWaiting(pollMs?: number) {
  const { databaseUrl, pool } = database
  const messages = await openMessages({ databaseUrl, hears: 'task_end', onError: () => {} })
  onTestFinished(messages.close)
  const ends = createTaskEnds({
    pool,
    hear: messages.hear,
    ...defined({ pollMs }),
    onError: () => {},
  })
  onTestFinished(ends.close)
  return { ends, awaitEnd: createAwaitEnd({ store: createTaskStore(pool), ends }) }
}

/** Creates an attempt store that announces its ends by notifications. */
async function announcingAttempts() {
  const messages = await openMessages({
    databaseUrl: database.databaseUrl,
    hears: 'sync_task',
    onError: (error) => expect.unreachable(String(error)),
  })
  onTestFinished(messages.close)
  return createTestAttempts(database.pool, undefined, messages.announceEnd)
}

/** Returns the backends of PostgreSQL that listen for ends. */
async function listening(): Promise<readonly number[]> {
  const { rows } = await database.pool.query<{ pid: number }>(
    `select pid from pg_stat_activity
     where application_name = 'darkroom-messages' and datname = current_database()
       and query = 'listen task_end' and state = 'idle'`,
  )
  return rows.map(({ pid }) => pid)
}

describe('awaitEnd', () => {
  it('wakes all waiters of a task by one connection and its notification, and lets the row decide [wait-7]', async () => {
    const attempts = await announcingAttempts()
    const { awaitEnd } = await createWaiting(600_000)
    const { taskId } = await insertTask(database.pool)
    const other = await insertTask(database.pool)
    const timeout = AbortSignal.timeout(20_000)
    const waiting = [1, 2, 3].map(() => awaitEnd(taskId, timeout))
    expect(await listening()).toHaveLength(1)
    await database.pool.query(`select pg_notify('task_end', $1)`, [taskId])
    await attempts.failTask(other.taskId, failure, 0)
    await attempts.failTask(taskId, failure, 0)
    const views = await Promise.all(waiting)
    expect(views).toMatchObject(waiting.map(() => ({ status: 'failed' })))
    expect(timeout.aborted).toBe(false)
  })

  it('finds the end by itself when the notification is lost [wait-8]', async () => {
    const attempts = await createTestAttempts(database.pool)
    const { awaitEnd } = await createWaiting()
    const { taskId } = await insertTask(database.pool)
    const timeout = AbortSignal.timeout(20_000)
    const waiting = awaitEnd(taskId, timeout)
    await attempts.failTask(taskId, failure, 0)
    expect(await waiting).toMatchObject({ status: 'failed' })
    expect(timeout.aborted).toBe(false)
  })

  it('listens again after its connection is lost', async () => {
    const attempts = await announcingAttempts()
    const { awaitEnd } = await createWaiting(600_000)
    const { taskId } = await insertTask(database.pool)
    const timeout = AbortSignal.timeout(20_000)
    const waiting = awaitEnd(taskId, timeout)
    const first = await listening()
    await database.pool.query('select pg_terminate_backend(pid) from unnest($1::int[]) as pid', [
      first,
    ])
    await expect
      .poll(async () => (await listening()).filter((pid) => !first.includes(pid)))
      .toHaveLength(1)
    await attempts.failTask(taskId, failure, 0)
    expect(await waiting).toMatchObject({ status: 'failed' })
    expect(timeout.aborted).toBe(false)
  })

  it('repeats failed reads of the row', async () => {
    const attempts = await announcingAttempts()
    const { ends } = await createWaiting(600_000)
    const { readTask } = createTaskStore(database.pool)
    let failures = 0
    const store = {
      readTask: (taskId: string) => {
        failures += 1
        return failures > 2 ? readTask(taskId) : Promise.reject(new Error('shutting down'))
      },
    }
    const awaitEnd = createAwaitEnd({ store, ends })
    const { taskId } = await insertTask(database.pool)
    await attempts.failTask(taskId, failure, 0)
    expect(await awaitEnd(taskId, AbortSignal.timeout(20_000))).toMatchObject({ status: 'failed' })
    failures = 0
    await expect(awaitEnd(taskId, AbortSignal.abort())).rejects.toThrow('shutting down')
  })

  it('says that a task without a row is missing', async () => {
    const { awaitEnd } = await createWaiting(600_000)
    const absent = `task_${'0'.repeat(32)}`
    expect(await awaitEnd(absent, AbortSignal.timeout(20_000))).toBe('missing')
  })
})
