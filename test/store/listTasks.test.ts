import { beforeAll, describe, expect, it } from 'vitest'
import type { TaskFilter } from '../../src/store/tasks/listTasks.ts'
import { listTasks } from '../../src/store/tasks/listTasks.ts'
import { insertEndedTasks } from '../support/database/insertEndedTasks.ts'
import { insertTask } from '../support/database/insertTask.ts'
import { createTestCaller } from '../support/database/testAccept.ts'
import type { TestDatabase } from '../support/database/testDatabase.ts'
import { createTestDatabase } from '../support/database/testDatabase.ts'

let database: TestDatabase
/** An account with 50 succeeded and 50 failed tasks, and one with few tasks. */
let busy: string
let idle: string
/** Of the account with few tasks, oldest first. */
let expired: readonly string[]
let failed: readonly string[]
let otherModel: readonly string[]
let live: string

const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString()

beforeAll(async () => {
  database = await createTestDatabase()
  const { pool } = database
  ;({ name: busy } = await createTestCaller(pool, 100_000))
  ;({ name: idle } = await createTestCaller(pool, 100_000))
  const few = { accountId: idle, count: 3, every: '1 second' }
  expired = await insertEndedTasks(pool, { ...few, at: hoursAgo(48) })
  await pool.query(
    `update task set expires_at = created_at + interval '1 day' where task_id = any ($1)`,
    [expired],
  )
  failed = await insertEndedTasks(pool, {
    ...few,
    at: hoursAgo(3),
    status: 'failed',
  })
  await pool.query(`update task set failure_code = 'cancelled' where task_id = $1`, [failed[1]])
  otherModel = await insertEndedTasks(pool, {
    ...few,
    at: hoursAgo(2),
    model: 'familya-3-pro-image',
  })
  live = (await insertTask(pool, { accountId: idle })).taskId
  await pool.query(
    `update task set created_at = now() - interval '90 minutes' where task_id = $1`,
    [live],
  )
  await insertEndedTasks(pool, {
    accountId: busy,
    count: 50,
    every: '1 millisecond',
    at: hoursAgo(1),
  })
  await insertEndedTasks(pool, {
    accountId: busy,
    count: 50,
    every: '1 millisecond',
    at: hoursAgo(5),
    status: 'failed',
  })
  await pool.query(
    `update task set failure_code = 'generation_timeout' where account_id = $1 and status = 'failed'`,
    [busy],
  )
  return () => database.drop()
})

async function listed(filter: Omit<TaskFilter, 'limit'>, limit = 50): Promise<readonly string[]> {
  const tasks = await listTasks(database.pool, { ...filter, limit })
  return tasks.map(({ task }) => task.taskId)
}

describe('the list of the tasks of all accounts', () => {
  it('has the newest tasks first, whatever their model', async () => {
    const ids = await listed({}, 57)
    expect(ids.slice(50)).toEqual([live, ...otherModel.toReversed(), ...failed.toReversed()])
    const { rows } = await database.pool.query<{ id: string }>(
      `select task_id as id from task order by created_at desc, task_id desc limit 60`,
    )
    expect(await listed({}, 60)).toEqual(rows.map(({ id }) => id))
  })

  it.each([
    ['queued', () => [live]],
    ['processing', () => []],
    ['failed', () => failed.toReversed()],
    ['expired', () => expired.toReversed()],
  ] as const)('has the tasks with the status %s', async (status, expected) => {
    const ids = expected()
    expect(await listed({ status }, 3)).toEqual(ids)
    expect(await listed({ status, account: idle })).toEqual(ids)
    const ofBusy = status === 'failed' ? 50 : 0
    expect(await listed({ status, account: busy }, 100)).toHaveLength(ofBusy)
  })

  it('counts no expired task as succeeded', async () => {
    const ids = await listed({ status: 'succeeded', account: idle })
    expect(ids).toEqual(otherModel.toReversed())
    expect(await listed({ status: 'succeeded' }, 60)).toHaveLength(53)
  })

  it('has the tasks of a model, of a failure code, and since a time', async () => {
    expect(await listed({ model: 'familya-3-pro-image' })).toEqual(otherModel.toReversed())
    expect(await listed({ model: 'familya-2.5-flash-image' })).toEqual([])
    expect(await listed({ failureCode: 'cancelled' })).toEqual([failed[1]])
    expect(await listed({ failureCode: 'upstream_error' })).toEqual([failed[2], failed[0]])
    const agoMs = 2.5 * 3_600_000
    const since = { agoMs }
    expect(await listed({ account: idle, since })).toEqual([live, ...otherModel.toReversed()])
    expect(await listed({ status: 'failed', since })).toEqual([])
    expect(await listed({ status: 'expired', since })).toEqual([])
    const longAgo = { agoMs: 72 * 3_600_000 }
    expect(await listed({ status: 'expired', since: longAgo })).toEqual(expired.toReversed())
    const atMs = Date.now() - agoMs
    expect(await listed({ model: 'familya-3-pro-image', since: { atMs } })).toHaveLength(3)
  })

  it('leaves tasks out that were retried, and tasks that are due for the purge', async () => {
    const { pool } = database
    await pool.query(`update task set retry_of = $1 where task_id = $2`, [failed[2], live])
    const notRetried = { status: 'failed', notRetried: true } as const
    expect(await listed(notRetried, 2)).toEqual([failed[1], failed[0]])
    expect(await listed({ status: 'failed' }, 1)).toEqual([failed[2]])
    await pool.query(`update task set purge_at = now() where task_id = $1`, [failed[1]])
    expect(await listed(notRetried, 1)).toEqual([failed[0]])
    await pool.query(`update task set purge_at = now() + interval '1 day' where task_id = $1`, [
      failed[1],
    ])
  })
})
