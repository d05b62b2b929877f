import { beforeAll, describe, expect, it } from 'vitest'
import { defined } from '../../src/domain/defined.ts'
import type { TaskFilter } from '../../src/store/tasks/listTasks.ts'
import { listTasks } from '../../src/store/tasks/listTasks.ts'
import { insertEndedTasks } from '../support/database/insertEndedTasks.ts'
import { insertTask } from '../support/database/insertTask.ts'
import {
  accepted,
  createTestAccept,
  createTestCaller,
  generateRequest,
  keyBytes,
} from '../support/database/testAccept.ts'
import { createTestAttempts } from '../support/database/testAttempts.ts'
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

async function page(filter: Omit<TaskFilter, 'limit'>, limit = 50) {
  const found = await listTasks(database.pool, { ...filter, limit })
  if (found === 'unknown_after') throw new Error(found)
  return found
}

async function listed(filter: Omit<TaskFilter, 'limit'>, limit = 50): Promise<readonly string[]> {
  return (await page(filter, limit)).map(({ task }) => task.taskId)
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
    const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString()
    const createdAfter = hoursAgo(2.5)
    const recent = [live, ...otherModel.toReversed()]
    expect(await listed({ account: idle, createdAfter })).toEqual(recent)
    expect(await listed({ status: 'failed', createdAfter })).toEqual([])
    expect(await listed({ status: 'expired', createdAfter })).toEqual([])
    const longAgo = { status: 'expired', createdAfter: hoursAgo(72) } as const
    expect(await listed(longAgo)).toEqual(expired.toReversed())
    expect(await listed({ model: 'familya-3-pro-image', createdAfter })).toHaveLength(3)
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

  it('continues after a task, also a purged one, and refuses an id that no task had', async () => {
    const all = await listed({}, 100)
    const purged = all[33] ?? ''
    for (const account of [undefined, busy]) {
      const filter = account === undefined ? {} : { account }
      const whole = await listed(filter, 200)
      const paged: string[] = []
      for (;;) {
        const next = paged.at(-1)
        const rows = await listed({ ...filter, ...defined({ after: next }) }, 34)
        paged.push(...rows)
        if (rows.length < 34) break
      }
      expect(paged).toEqual(whole)
    }
    await database.pool.query('delete from task where task_id = $1', [purged])
    expect(await listed({ after: purged }, 60)).toEqual(all.slice(34, 94))
    const unknown = `task_${'x'.repeat(32)}`
    for (const after of [unknown, `' or true --`, '']) {
      expect(await listTasks(database.pool, { after, limit: 1 })).toBe('unknown_after')
    }
    expect(await listTasks(database.pool, { after: purged, accountId: idle, limit: 1 })).toBe(
      'unknown_after',
    )
  })

  it('has the tasks of a window, whose end is excluded', async () => {
    const [oldest = '', middle = '', newest = ''] = otherModel
    const { rows } = await database.pool.query<{ at: string }>(
      'select created_at::text as at from task where task_id = any ($1) order by created_at',
      [otherModel],
    )
    const [from = '', to = '', end = ''] = rows.map(({ at }) => at)
    const account = idle
    expect(await listed({ account, createdAfter: from, createdBefore: end })).toEqual([
      middle,
      oldest,
    ])
    expect(await listed({ createdAfter: from, createdBefore: to })).toEqual([oldest])
    expect((await listed({ account, createdAfter: end })).at(-1)).toBe(newest)
  })

  it('has the tasks of an idempotency key, of every account and status, and their retries', async () => {
    const { pool } = database
    const { accept } = createTestAccept(pool)
    const made: string[] = []
    for (const route of ['images.tasks', 'images.generations'] as const) {
      const caller = await createTestCaller(pool, 100)
      const request = generateRequest({ route })
      const answer = await accept({ caller, request, idempotencyKey: keyBytes('order 7 é') })
      made.push(accepted(answer).taskId)
    }
    const [first = '', second = ''] = made
    expect(await listed({ idempotencyKey: 'order 7 é' })).toEqual([second, first])
    const attempts = await createTestAttempts(pool)
    const failure = { code: 'upstream_error', cause: 'refused', workPossible: false } as const
    await attempts.failTask(second, failure, 0)
    const { taskId: retry } = await insertTask(pool)
    await pool.query('update task set retry_of = $1 where task_id = $2', [second, retry])
    expect(await listed({ idempotencyKey: 'order 7 é' })).toEqual([retry, second, first])
    expect(await listed({ idempotencyKey: 'order 7 é', status: 'failed' })).toEqual([second])
    expect(await listed({ idempotencyKey: 'order 7' })).toEqual([])
    await pool.query('delete from task where task_id = any ($1)', [[retry, second, first]])
  })

  it.each<Record<string, string>>([
    { account: `x' or '1' = '1` },
    { model: `'; delete from task; --` },
    { failureCode: `' or true --` },
    { idempotencyKey: `$1) or true --` },
  ])('finds nothing for %j', async (filter) => {
    expect(await listed(filter)).toEqual([])
    expect(await listed({}, 1)).toHaveLength(1)
  })
})
