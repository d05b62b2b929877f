import { expect, it, onTestFinished, vi } from 'vitest'
import { createModelTable } from '../../src/domain/models/modelTable.ts'
import { openMessages } from '../../src/store/connection/messages.ts'
import { createTaskWatches } from '../../src/tasks/watchTasks.ts'
import { awaitEnd } from '../../src/tasks/awaitEnd.ts'
import type { TaskEvent } from '../../src/tasks/followTask.ts'
import { followTask } from '../../src/tasks/followTask.ts'
import { insertTask } from '../support/database/insertTask.ts'
import { createTestAttempts, openAttempt } from '../support/database/testAttempts.ts'
import { useTestDatabase } from '../support/database/testDatabase.ts'
import { timed } from '../support/timing.ts'

const database = useTestDatabase()

const failure = { code: 'upstream_error', cause: 'unknown', workPossible: true } as const
const limit = () => AbortSignal.timeout(20_000)

/**
 * A process that hears of ends, and another one that tells of its own. With this `pollMs` a poll would come after the
 * test.
 */
async function openProcesses(polls: { readonly pollMs?: number } = { pollMs: 600_000 }) {
  const { pool, databaseUrl } = database
  const open = async (hears: 'task_end' | 'task') => {
    const messages = await openMessages({ databaseUrl, hears, onError: () => {} })
    onTestFinished(messages.close)
    return messages
  }
  const { hear } = await open('task_end')
  const watches = createTaskWatches({ pool, hear, onError: () => {}, ...polls })
  onTestFinished(watches.close)
  const { announceEnd } = await open('task')
  const attempts = await createTestAttempts(pool, undefined, ({ taskId }) => announceEnd(taskId))
  return { deps: { pool, watches, models: createModelTable() }, attempts }
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

it('all who wait for a task are woken by one connection and its notification, and the row decides [wait-7]', async () => {
  const { deps, attempts } = await openProcesses()
  const { taskId } = await insertTask(database.pool)
  const other = await insertTask(database.pool)
  const waiting = [1, 2, 3].map(() => awaitEnd(deps, taskId, limit()))
  expect(await listening()).toHaveLength(1)
  await database.pool.query(`select pg_notify('task_end', $1)`, [taskId])
  await attempts.failTask(other.taskId, failure, 0)
  await attempts.failTask(taskId, failure, 0)
  expect(await Promise.all(waiting)).toMatchObject(waiting.map(() => ({ status: 'failed' })))
})

it('an end is found within a second when its notification is lost [wait-8]', async () => {
  const { deps } = await openProcesses({})
  const silent = await createTestAttempts(database.pool)
  const { taskId } = await insertTask(database.pool)
  const waiting = awaitEnd(deps, taskId, limit())
  await silent.failTask(taskId, failure, 0)
  expect(await timed(() => waiting)).toBeLessThan(5_000)
  expect(await waiting).toMatchObject({ status: 'failed' })
})

it('who waits for an end reads the task once only, however many polls find it live', async () => {
  const { deps, attempts } = await openProcesses({ pollMs: 20 })
  const { taskId } = await insertTask(database.pool)
  const query = vi.spyOn(deps.pool, 'query')
  onTestFinished(() => query.mockRestore())
  const sent = (name: string) =>
    query.mock.calls.filter(([config]) => JSON.stringify(config).includes(`"name":"${name}"`))
      .length
  const waiting = awaitEnd(deps, taskId, limit(), { isNew: true })
  await expect.poll(() => sent('find-changed')).toBeGreaterThan(2)
  await openAttempt(attempts, taskId)
  const polls = sent('find-changed')
  await expect.poll(() => sent('find-changed')).toBeGreaterThan(polls + 2)
  expect(sent('read-task')).toBe(0)
  await attempts.closeAttempt({ taskId, n: 1, class: 'rejected', evidence: { reason: 'no_image' } })
  await attempts.failTask(taskId, failure, 1)
  expect(await waiting).toMatchObject({ status: 'failed' })
  expect(sent('read-task')).toBe(1)
})

it('a process that waits for an end listens again after its connection is lost', async () => {
  const { deps, attempts } = await openProcesses()
  const { taskId } = await insertTask(database.pool)
  const waiting = awaitEnd(deps, taskId, limit())
  const first = await listening()
  await database.pool.query('select pg_terminate_backend(pid) from unnest($1::int[]) as pid', [
    first,
  ])
  await expect
    .poll(async () => (await listening()).filter((pid) => !first.includes(pid)))
    .toHaveLength(1)
  await attempts.failTask(taskId, failure, 0)
  expect(await waiting).toMatchObject({ status: 'failed' })
})

it('a read of an awaited task that fails is repeated, until the wait is over', async () => {
  const { deps, attempts } = await openProcesses()
  const { taskId } = await insertTask(database.pool)
  await attempts.failTask(taskId, failure, 0)
  const query = vi.spyOn(deps.pool, 'query')
  onTestFinished(() => query.mockRestore())
  const failOnce = () =>
    query.mockImplementationOnce(() => {
      throw new Error('shutting down')
    })
  failOnce()
  failOnce()
  expect(await awaitEnd(deps, taskId, limit())).toMatchObject({ status: 'failed' })
  failOnce()
  await expect(awaitEnd(deps, taskId, AbortSignal.abort())).rejects.toThrow('shutting down')
})

it('who follows a task sees it processing also when the call is over before the next read', async () => {
  const { deps, attempts } = await openProcesses()
  let events: TaskEvent[] = []
  const ids = () => events.map(({ id }) => id)
  const following = async (lastId?: number) => {
    events = []
    for await (const event of followTask(deps, taskId, limit(), lastId)) events.push(event)
  }
  const { taskId } = await insertTask(database.pool)
  const done = following()
  await expect.poll(ids).toEqual([0])
  await openAttempt(attempts, taskId)
  await attempts.closeAttempt({ taskId, n: 1, class: 'rejected', evidence: { reason: 'no_image' } })
  await attempts.failTask(taskId, failure, 1)
  await done
  // The progress is 1 when the first call begins, and the id is one more.
  expect(ids()).toEqual([0, 2, 1_000])
  expect(events[1]?.task).toMatchObject({ taskId, status: 'processing' })
  expect(events[1]?.task).not.toHaveProperty('completedAtMs')
  // A reader who comes back after the queued task has missed the same change.
  await following(0)
  expect(ids()).toEqual([2, 1_000])
  await following()
  expect(ids()).toEqual([1_000])
})
