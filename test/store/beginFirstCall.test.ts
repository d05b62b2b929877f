import { randomBytes } from 'node:crypto'
import { beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { beginFirstCall } from '../../src/store/attempts/beginFirstCall.ts'
import { insertTask } from '../support/database/insertTask.ts'
import { createTestAttempts, testChannel } from '../support/database/testAttempts.ts'
import type { TestDatabase } from '../support/database/testDatabase.ts'
import { createTestDatabase } from '../support/database/testDatabase.ts'
import { untilLockAwaited } from '../support/database/untilLockAwaited.ts'

let database: TestDatabase
let taskId: string

const channel = testChannel({ concurrencyMax: 1 })

beforeAll(async () => {
  database = await createTestDatabase()
  await createTestAttempts(database.pool, [channel])
  return () => database.drop()
})

beforeEach(async () => {
  await database.pool.query(`update channel set paused_at = null`)
  await database.pool.query(`delete from attempt; delete from cooldown; delete from place_queue`)
  taskId = (await insertTask(database.pool)).taskId
})

const begin = () =>
  beginFirstCall(
    { pool: database.pool, processId: 'test', randomBytes, channelsOf: () => [channel] },
    { taskId },
  )

async function taskRow(): Promise<unknown> {
  const { rows } = await database.pool.query(
    `select status, (select count(*)::int from attempt where attempt.task_id = task.task_id) as calls
     from task where task_id = $1`,
    [taskId],
  )
  return rows[0]
}

describe('beginFirstCall', () => {
  it('opens the first attempt on the first channel when every condition holds', async () => {
    const call = await begin()
    expect(call).toMatchObject({ n: 1, upstreamKey: `${taskId}-1`, timeoutMs: 5_000, channel })
    expect(call?.hardEndMs).toBeGreaterThan(890_000)
    expect(await taskRow()).toEqual({ status: 'processing', calls: 1 })
  })

  it('opens nothing for a task that is processing', async () => {
    await begin()
    expect(await begin()).toBeUndefined()
    expect(await taskRow()).toEqual({ status: 'processing', calls: 1 })
  })

  it('opens one call when many tasks begin at once and the channel has one place', async () => {
    const others = await Promise.all(Array.from({ length: 7 }, () => insertTask(database.pool)))
    const deps = {
      pool: database.pool,
      processId: 'test',
      randomBytes,
      channelsOf: () => [channel],
    }
    const ids = [taskId, ...others.map((task) => task.taskId)]
    const begun = await Promise.all(ids.map((id) => beginFirstCall(deps, { taskId: id })))
    expect(begun.filter((call) => call !== undefined)).toHaveLength(1)
  })

  it.each([
    ['the channel is paused', `update channel set paused_at = now()`],
    [
      'the model gets a cooldown',
      `insert into cooldown (channel, model, until_at, slot_at)
       values ('b-main', 'familyb-image-2-vip', now(), now())`,
    ],
    [
      'another task joins the queue',
      `insert into place_queue (channel, task_id, account_id, sync, present_until)
       values ('b-main', 'another', 'acct', false, now() + interval '1 minute')`,
    ],
  ])('writes nothing when %s while it waits for the lock on the channel', async (_what, change) => {
    const holder = await database.pool.connect()
    onTestFinished(() => holder.release(true))
    await holder.query('begin')
    await holder.query(`select from channel where name = 'b-main' for update`)
    const beginning = begin()
    await untilLockAwaited(database.pool)
    await holder.query(change)
    await holder.query('commit')
    expect(await beginning).toBeUndefined()
    expect(await taskRow()).toEqual({ status: 'queued', calls: 0 })
  })

  it('writes nothing when the task ends while it waits for the lock on the task', async () => {
    const holder = await database.pool.connect()
    onTestFinished(() => holder.release(true))
    await holder.query('begin')
    await holder.query('select from task where task_id = $1 for update', [taskId])
    const beginning = begin()
    await untilLockAwaited(database.pool)
    await holder.query(
      `update task set status = 'failed', failure_code = 'cancelled', failure_cause = 'cancelled',
         failure_work_possible = false, completed_at = now()
       where task_id = $1`,
      [taskId],
    )
    await holder.query('commit')
    expect(await beginning).toBeUndefined()
    expect(await taskRow()).toEqual({ status: 'failed', calls: 0 })
  })
})
