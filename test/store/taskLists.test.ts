import { beforeAll, describe, expect, it } from 'vitest'
import { defined } from '../../src/domain/defined.ts'
import type { TaskFilter } from '../../src/store/tasks/taskLists.ts'
import { listTasks } from '../../src/store/tasks/taskLists.ts'
import { insertEndedTasks } from '../support/database/insertEndedTasks.ts'
import { insertTask } from '../support/database/insertTask.ts'
import {
  accepted,
  createTestAccept,
  createTestCaller,
  generateRequest,
  keyBytes,
} from '../support/database/testAccept.ts'
import { rowsOf } from '../support/database/rowsOf.ts'
import { useTestDatabase } from '../support/database/testDatabase.ts'

const database = useTestDatabase()
let account: string
/** Three tasks of the account each, oldest first. */
let expired: readonly string[]
let failed: readonly string[]
let otherModel: readonly string[]
/** The task of another account. */
let live: string

const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString()

beforeAll(async () => {
  const { pool } = database
  account = (await createTestCaller(pool, 100)).name
  const three = { accountId: account, count: 3, every: '1 second' }
  const model = 'familya-3-pro-image'
  expired = await insertEndedTasks(pool, { ...three, at: hoursAgo(48) })
  await pool.query('update task set expires_at = now() where task_id = any ($1)', [expired])
  failed = await insertEndedTasks(pool, { ...three, at: hoursAgo(3), status: 'failed' })
  await pool.query(`update task set request = '{}' where task_id = any ($1)`, [failed])
  await pool.query(`update task set failure_code = 'cancelled' where task_id = $1`, [failed[1]])
  otherModel = await insertEndedTasks(pool, { ...three, at: hoursAgo(2), model })
  live = (await insertTask(pool)).taskId
})

async function listed(filter: Omit<TaskFilter, 'limit'>, limit = 50): Promise<readonly string[]> {
  return rowsOf(await listTasks(database.pool, { ...filter, limit })).map(({ task }) => task.taskId)
}

const newestFirst = () => [
  live,
  ...[otherModel, failed, expired].flatMap((three) => three.toReversed()),
]

describe('the list of the tasks of all accounts', () => {
  it('has the newest tasks first', async () => {
    expect(await listed({})).toEqual(newestFirst())
    expect(await listed({ account })).toEqual(newestFirst().slice(1))
    expect(await listed({}, 5)).toEqual(newestFirst().slice(0, 5))
  })

  it.each([
    ['queued', () => [live]],
    ['processing', () => []],
    ['failed', () => failed.toReversed()],
    ['expired', () => expired.toReversed()],
    ['succeeded', () => otherModel.toReversed()],
  ] as const)('has the tasks with the status %s', async (status, expected) => {
    expect(await listed({ status })).toEqual(expected())
  })

  it('has the tasks of a model, of a failure code, and of a time', async () => {
    expect(await listed({ model: 'familya-3-pro-image' })).toEqual(otherModel.toReversed())
    expect(await listed({ failureCode: 'cancelled' })).toEqual([failed[1]])
    const recent = { createdAfter: hoursAgo(2.5) }
    expect(await listed(recent)).toEqual([live, ...otherModel.toReversed()])
    const window = { createdAfter: hoursAgo(72), createdBefore: hoursAgo(2.5) }
    expect(await listed(window)).toEqual([...failed.toReversed(), ...expired.toReversed()])
  })

  it('leaves tasks out that were retried, that are due for the purge, or whose request is gone', async () => {
    const { pool } = database
    await pool.query(`update task set retry_of = $1 where task_id = $2`, [failed[2], live])
    const retryable = { status: 'failed', isRetryable: true } as const
    expect(await listed(retryable, 2)).toEqual([failed[1], failed[0]])
    const purge = (at: string) =>
      pool.query(`update task set purge_at = ${at} where task_id = $1`, [failed[1]])
    await purge('now()')
    expect(await listed(retryable, 1)).toEqual([failed[0]])
    await purge(`now() + interval '1 day'`)
    await pool.query('update task set request = null where task_id = $1', [failed[1]])
    expect(await listed(retryable, 1)).toEqual([failed[0]])
  })

  it('continues after a task, also a purged one, and refuses an id that no task had', async () => {
    const paged: string[] = []
    for (;;) {
      const rows = await listed(defined({ after: paged.at(-1) }), 4)
      paged.push(...rows)
      if (rows.length < 4) break
    }
    expect(paged).toEqual(newestFirst())
    const [purged = ''] = expired
    await database.pool.query('delete from task where task_id = $1', [expired[1]])
    expect(await listed({ after: expired[1] ?? '' })).toEqual([purged])
    for (const after of [`task_${'x'.repeat(32)}`, `' or true --`, '']) {
      expect(await listTasks(database.pool, { after, limit: 1 })).toBe('unknown_after')
    }
    const ofOther = { after: live, accountId: account, limit: 1 }
    expect(await listTasks(database.pool, ofOther)).toBe('unknown_after')
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
    await pool.query(
      `update task set status = 'failed', failure_code = 'upstream_error', completed_at = now() where task_id = $1`,
      [second],
    )
    const { taskId: retry } = await insertTask(pool)
    await pool.query(
      `update task set retry_of = failed.task_id, key_digest = failed.key_digest from task failed
       where failed.task_id = $1 and task.task_id = $2`,
      [second, retry],
    )
    const found = await listed({ idempotencyKey: 'order 7 é' })
    expect(found.toSorted()).toEqual([first, second, retry].toSorted())
    expect(await listed({ idempotencyKey: 'order 7' })).toEqual([])
  })
})
