import { describe, expect, it, onTestFinished } from 'vitest'
import { createNotifier } from '../../src/store/connection/notifier.ts'
import { taskEndChannel } from '../../src/store/tasks/announceEnd.ts'
import { createTaskEnds } from '../../src/store/tasks/taskEnds.ts'
import { createAwaitEnd } from '../../src/tasks/awaitEnd.ts'
import { createTaskStore } from '../../src/store/tasks/taskStore.ts'
import { insertTask } from '../support/database/insertTask.ts'
import { createTestAttempts } from '../support/database/testAttempts.ts'
import { useTestDatabase } from '../support/database/testDatabase.ts'

const database = useTestDatabase()

const failure = { code: 'upstream_error', cause: 'unknown', workPossible: true } as const

/** With a `pollMs` longer than the test, only notifications can wake. */
function createWaiting(pollMs: number) {
  const { databaseUrl, pool } = database
  const ends = createTaskEnds({ databaseUrl, pool, pollMs, onConnectionError: () => {} })
  return { ends, awaitEnd: createAwaitEnd({ store: createTaskStore(pool), ends }) }
}

/** Creates an attempt store that announces its ends by notifications. */
async function announcingAttempts() {
  const notifier = createNotifier({
    databaseUrl: database.databaseUrl,
    onError: (error) => expect.unreachable(error.message),
  })
  onTestFinished(() => notifier.close())
  return createTestAttempts(database.pool, undefined, (taskId) =>
    notifier.send(taskEndChannel, taskId),
  )
}

async function listenersGone(): Promise<void> {
  await database.pool.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where application_name = 'darkroom-listen' and datname = current_database()`,
  )
}

async function listening(): Promise<number | undefined> {
  const { rows } = await database.pool.query<{ count: number }>(
    `select count(*)::int as count from pg_stat_activity
     where application_name = 'darkroom-listen' and datname = current_database()
       and query = 'listen task_end' and state = 'idle'`,
  )
  return rows[0]?.count
}

describe('awaitEnd', () => {
  it('wakes all waiters of a task by its notification, and lets the row decide', async () => {
    const attempts = await announcingAttempts()
    const { ends, awaitEnd } = createWaiting(600_000)
    const { taskId } = await insertTask(database.pool)
    const other = await insertTask(database.pool)
    const timeout = AbortSignal.timeout(20_000)
    const waiting = [1, 2, 3].map(() => awaitEnd(taskId, timeout))
    await expect.poll(listening).toBe(1)
    await database.pool.query(`select pg_notify('task_end', $1)`, [taskId])
    await attempts.failTask(other.taskId, failure, 0)
    await attempts.failTask(taskId, failure, 0)
    const views = await Promise.all(waiting)
    expect(views).toMatchObject(waiting.map(() => ({ status: 'failed' })))
    expect(timeout.aborted).toBe(false)
    await ends.close()
  })

  it('listens again after its connection is lost', async () => {
    const attempts = await announcingAttempts()
    const { ends, awaitEnd } = createWaiting(600_000)
    const { taskId } = await insertTask(database.pool)
    const timeout = AbortSignal.timeout(20_000)
    const waiting = awaitEnd(taskId, timeout)
    await expect.poll(listening).toBe(1)
    await listenersGone()
    await expect.poll(listening).toBe(1)
    await attempts.failTask(taskId, failure, 0)
    expect(await waiting).toMatchObject({ status: 'failed' })
    expect(timeout.aborted).toBe(false)
    await ends.close()
  })

  it('repeats failed reads of the row', async () => {
    const attempts = await announcingAttempts()
    const { ends } = createWaiting(600_000)
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
    await ends.close()
  })

  it('says that a task without a row is missing', async () => {
    const { ends, awaitEnd } = createWaiting(600_000)
    const absent = `task_${'0'.repeat(32)}`
    expect(await awaitEnd(absent, AbortSignal.timeout(20_000))).toBe('missing')
    await ends.close()
  })
})
