import { randomBytes } from 'node:crypto'
import { beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { createBeginFirstCall } from '../../src/store/attempts/beginFirstCall.ts'
import type { Channel } from '../../src/domain/upstream/channel.ts'
import { insertTask } from '../support/database/insertTask.ts'
import { createTestAttempts, testChannel } from '../support/database/testAttempts.ts'
import type { TestDatabase } from '../support/database/testDatabase.ts'
import { createTestDatabase } from '../support/database/testDatabase.ts'
import { untilLockAwaited } from '../support/database/untilLockAwaited.ts'

let database: TestDatabase
let taskId: string
let accountId: string

const channel = testChannel({ concurrencyMax: 1 })

beforeAll(async () => {
  database = await createTestDatabase()
  await createTestAttempts(database.pool, [channel])
  return () => database.drop()
})

beforeEach(async () => {
  await database.pool.query(`update channel set paused_at = null`)
  await database.pool.query(
    `delete from attempt; delete from upload; delete from cooldown; delete from place_queue`,
  )
  ;({ taskId, accountId } = await insertTask(database.pool))
})

const openGate = (channels: readonly Channel[] = [channel]) =>
  createBeginFirstCall({
    pool: database.pool,
    processId: 'test',
    randomBytes,
    channelsOf: (family) => channels.filter((each) => each.family === family),
  })

const begin = () => openGate()({ taskId })

async function taskRow(): Promise<unknown> {
  const { rows } = await database.pool.query(
    `select status, (select count(*)::int from attempt where attempt.task_id = task.task_id) as calls
     from task where task_id = $1`,
    [taskId],
  )
  return rows[0]
}

describe('beginFirstCall', () => {
  it('opens calls of both families at once, each with its own request and answer', async () => {
    const second = testChannel({ name: 'a-main', family: 'A', timeoutMs: 7_000 })
    await database.pool.query(`insert into channel (name) values ('a-main') on conflict do nothing`)
    const other = await insertTask(database.pool)
    await database.pool.query(
      `update task set family = 'A', model = 'familya-3-pro-image', request = '{"route":"other"}'
       where task_id = $1`,
      [other.taskId],
    )
    const beginFirstCall = openGate([channel, second])
    const calls = await Promise.all([
      beginFirstCall({ taskId, answerId: 'an-1', via: 'offer' }),
      beginFirstCall({ taskId: 'task_unknown' }),
      beginFirstCall({ taskId: other.taskId, answerId: 'an-2' }),
    ])
    expect(calls).toMatchObject([
      { channel, answerId: 'an-1', upstreamKey: `${taskId}-1`, timeoutMs: 5_000 },
      undefined,
      { channel: second, answerId: 'an-2', upstreamKey: `${other.taskId}-1`, timeoutMs: 7_000 },
    ])
    expect(calls.map((call) => call?.accountId)).toEqual([accountId, undefined, other.accountId])
    expect(calls[2]?.takeRequest()).toEqual({ route: 'other' })
    const { rows } = await database.pool.query(
      'select task_id, answer_id, via, channel from attempt order by answer_id',
    )
    expect(rows).toEqual([
      { task_id: taskId, answer_id: 'an-1', via: 'offer', channel: 'b-main' },
      { task_id: other.taskId, answer_id: 'an-2', via: 'workflow', channel: 'a-main' },
    ])
  })

  it('opens one call for a task that asks several times at once', async () => {
    const other = await insertTask(database.pool)
    const asking = [taskId, other.taskId, taskId]
    const gate = await createTestAttempts(database.pool, [{ ...channel, concurrencyMax: 2 }])
    const begun = await Promise.all(asking.map((id) => gate.beginAttempt({ taskId: id })))
    const opened = begun.flatMap((each) => (each.kind === 'opened' ? each.attempt.upstreamKey : []))
    expect(opened.toSorted()).toEqual([`${taskId}-1`, `${other.taskId}-1`].toSorted())
    expect(await taskRow()).toEqual({ status: 'processing', calls: 1 })
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
})
