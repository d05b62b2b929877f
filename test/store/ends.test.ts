import { describe, expect, it } from 'vitest'
import type { TaskFailure } from '../../src/domain/failure.ts'
import { cancelTask } from '../../src/store/tasks/ends.ts'
import { whileUncommitted } from '../support/database/whileUncommitted.ts'
import { useAttemptWorld } from '../support/database/attemptWorld.ts'
import { insertTask } from '../support/database/insertTask.ts'
import { endsOf } from '../support/database/money.ts'
import {
  createTestAttempts,
  openAttempt,
  testChannel,
  testMeta,
} from '../support/database/testAttempts.ts'

const world = useAttemptWorld()

const unknown = { class: 'unknown', evidence: { reason: 'timeout' } } as const
const failure: TaskFailure = { code: 'upstream_error', cause: 'unknown', workPossible: true }

async function opened() {
  const task = await insertTask(world.pool)
  return { ...task, ...(await openAttempt(world.attempts, task.taskId)) }
}

// Which end a task can have, and what moves then, is in transitionsModel.test.ts: one after the other and at once.

describe('a settlement', () => {
  it('drops prompt and inputs and keeps the answer for its retention and a grace for downloads [life-5]', async () => {
    const { taskId, answerId } = await opened()
    await world.pool.query(
      `insert into upload (upload_id, kind, task_id, sweep_after) values ($1, 'input', $2, 'infinity')`,
      [`in-${taskId}`, taskId],
    )
    await world.attempts.settleTask({ meta: testMeta(taskId), answerId })
    const { rows } = await world.pool.query(
      `select u.kind, u.sweep_after <= now() as swept,
         u.sweep_after = t.expires_at + interval '15 minutes' as kept, t.request
       from upload u join task t using (task_id) where task_id = $1 order by kind`,
      [taskId],
    )
    expect(rows).toEqual([
      { kind: 'answer', swept: false, kept: true, request: null },
      { kind: 'input', swept: true, kept: false, request: null },
    ])
  })
})

it('an end enters the channel that made the image, or the last one that was called', async () => {
  const other = testChannel({ name: 'b-other' })
  await world.pool.query('insert into channel (name) values ($1)', [other.name])
  const calledTwice = async () => {
    const first = await opened()
    await world.attempts.closeAttempt({ taskId: first.taskId, n: 1, ...unknown })
    await openAttempt(world.attempts, first.taskId, { channel: other })
    return first
  }
  const settled = await calledTwice()
  const { answerId } = settled
  await world.attempts.settleTask({ meta: testMeta(settled.taskId, 1), answerId })
  const failed = await calledTwice()
  await world.attempts.closeAttempt({ taskId: failed.taskId, n: 2, ...unknown })
  await world.attempts.failTask(failed.taskId, failure, 2)
  const uncalled = await insertTask(world.pool)
  await world.attempts.failTask(uncalled.taskId, failure, 0)
  const tasks = [settled, failed, uncalled].map(({ taskId }) => taskId)
  const { rows } = await world.pool.query(
    `select channel from ledger where task_id = any ($1) and kind in ('settle', 'release')
     order by array_position($1, task_id)`,
    [tasks],
  )
  expect(rows.map(({ channel }) => channel)).toEqual(['b-main', 'b-other', null])
})

describe('a cancel', () => {
  it('beside a refusal that is not yet committed waits, and is no conflict', async () => {
    const { taskId } = await opened()
    const close = ['update task set open_attempt = null where task_id = $1', taskId] as const
    const cancel = () => world.attempts.cancelTask(taskId, 'asked')
    expect(await whileUncommitted(world.pool, close, cancel)).toBe('cancelled')
  })
})

describe('the ends of a task', () => {
  it.each([
    ['for their retention', 'asked', 3_600, 3_600, true],
    ['not at all when its client has left', 'client_left', 3_600, 0, false],
    ['no longer than its record', 'asked', 9_000_000, 691_200, true],
  ] as const)('keep prompt and inputs of a failed task %s [life-5]', async (...row) => {
    const [, reason, inputRetentionSeconds, keptSeconds, hasRequest] = row
    const { pool } = world
    const { taskId } = await insertTask(pool)
    await pool.query(
      `insert into upload (upload_id, kind, task_id, bytes, sweep_after)
       values ($1, 'input', $2, 7, 'infinity')`,
      [`in-${taskId}`, taskId],
    )
    const lifetimes = { retentionSeconds: 86_400, tombstoneSeconds: 604_800, inputRetentionSeconds }
    const deps = { pool, ...lifetimes }
    expect(await cancelTask(deps, taskId, reason)).toMatchObject({ result: 'cancelled' })
    const { rows } = await pool.query(
      `select extract(epoch from u.sweep_after - t.completed_at)::int as "keptSeconds",
         t.request is not null as "hasRequest",
         t.retry_until = u.sweep_after as "retryable", t.retry_bytes - octet_length(request) as "inputBytes"
       from upload u join task t using (task_id) where task_id = $1`,
      [taskId],
    )
    const kept = hasRequest
      ? { retryable: true, inputBytes: 7 }
      : { retryable: null, inputBytes: null }
    expect(rows).toEqual([{ keptSeconds, hasRequest, ...kept }])
  })

  it('change nothing when the account has no balance to change', async () => {
    const { taskId, accountId } = await insertTask(world.pool)
    await world.pool.query('delete from balance where account_id = $1', [accountId])
    await expect(world.attempts.cancelTask(taskId, 'asked')).rejects.toThrow('balance')
    expect(await endsOf(world.pool, taskId)).toEqual([])
    const { rows } = await world.pool.query('select status from task where task_id = $1', [taskId])
    expect(rows).toEqual([{ status: 'queued' }])
  })

  it('are announced once each, and only after they are committed', async () => {
    const { pool } = world
    const announced: { taskId: string; statuses: Promise<unknown> }[] = []
    const announcing = await createTestAttempts(pool, undefined, ({ taskId }) => {
      const statuses = pool.query('select status from task where task_id = $1', [taskId])
      announced.push({ taskId, statuses: statuses.then(({ rows }) => rows) })
    })
    const one = await opened()
    const [two, three] = [await insertTask(pool), await insertTask(pool)]
    for (let time = 0; time < 2; time += 1) {
      await announcing.settleTask({ meta: testMeta(one.taskId), answerId: one.answerId })
      await announcing.failTask(two.taskId, failure, 0)
      await announcing.cancelTask(three.taskId, 'asked')
    }
    expect(announced.map(({ taskId }) => taskId)).toEqual([one.taskId, two.taskId, three.taskId])
    const statuses = await Promise.all(announced.map((each) => each.statuses))
    expect(statuses).toEqual([
      [{ status: 'succeeded' }],
      [{ status: 'failed' }],
      [{ status: 'failed' }],
    ])
  })
})
