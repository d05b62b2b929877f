import { describe, expect, it } from 'vitest'
import type { TaskFailure } from '../../src/domain/failure.ts'
import type { AttemptClose } from '../../src/store/attempts/closeAttempt.ts'
import { useAttemptWorld } from '../support/database/attemptWorld.ts'
import { insertTask } from '../support/database/insertTask.ts'
import { endLease, setTask, taskRow } from '../support/database/reconcileWorld.ts'
import {
  askToOpen,
  countOpenAttempts,
  loseWorker,
  openAttempt,
  outcomesOf,
  testChannel,
  testMeta,
  testProcessId,
} from '../support/database/testAttempts.ts'
import { untilLockAwaited } from '../support/database/untilLockAwaited.ts'

const world = useAttemptWorld([testChannel({ timeoutMs: 300_000, concurrencyMax: 1_000 })])
const channel = testChannel({ timeoutMs: 300_000, concurrencyMax: 1_000 })

const rejected = {
  class: 'rejected',
  evidence: { reason: 'content_policy', httpStatus: 400 },
} as const
const unknown = { class: 'unknown', evidence: { reason: 'timeout' } } as const
const failure: TaskFailure = { code: 'upstream_error', cause: 'unknown', workPossible: true }

async function opened() {
  const task = await insertTask(world.pool)
  return { ...task, ...(await openAttempt(world.attempts, task.taskId, { channel })) }
}

async function rowOf(taskId: string) {
  const { rows } = await world.pool.query(
    'select open_attempt as open, work_possible as "workPossible" from task where task_id = $1',
    [taskId],
  )
  return rows[0]
}

/** Whether the sweep may delete the answer now. */
async function isDue(answerId: string): Promise<boolean | undefined> {
  const { rows } = await world.pool.query<{ due: boolean }>(
    'select sweep_after <= now() as due from upload where upload_id = $1',
    [answerId],
  )
  return rows[0]?.due
}

const close = (given: AttemptClose) => world.attempts.closeAttempt(given)

const lose = (taskId: string, n = 1, judge = testProcessId) =>
  world.attempts.loseAttempt({ taskId, n, judge })

describe('a close', () => {
  it.each([
    ['rejected', rejected, false],
    ['unknown', unknown, true],
  ] as const)('frees the task; work is possible after it: %s', async (_name, outcome, possible) => {
    const { taskId, n, answerId } = await opened()
    expect(await close({ taskId, n, ...outcome })).toBe(true)
    expect(await rowOf(taskId)).toEqual({ open: null, workPossible: possible })
    expect(await isDue(answerId)).toBe(false)
  })

  it('happens once, and keeps the first outcome and the native refusal', async () => {
    const { taskId, n } = await opened()
    const first = { taskId, n, ...rejected, nativeRejection: { candidates: [] } }
    expect(await close(first)).toBe(true)
    expect(await close({ ...first, ...unknown, nativeRejection: { candidates: ['x'] } })).toBe(
      false,
    )
    expect(await outcomesOf(world.pool, taskId)).toEqual(['rejected content_policy'])
    const { rows } = await world.pool.query(
      'select native_rejection, work_possible from task where task_id = $1',
      [taskId],
    )
    expect(rows).toEqual([{ native_rejection: '{"candidates":[]}', work_possible: false }])
  })

  it('never closes the attempt of another answer, nor a later attempt', async () => {
    const { taskId, n } = await opened()
    await world.attempts.abandonAttempt({ taskId, n, answerId: 'an-of-another' })
    expect(await close({ taskId, n: n + 1, ...unknown })).toBe(false)
    expect(await rowOf(taskId)).toEqual({ open: 1, workPossible: false })
  })

  it('moves the next check from after the lease to within half a minute', async () => {
    const { taskId, n } = await opened()
    await setTask(world.pool, taskId, { started_at: 'now()' })
    expect((await taskRow(world.pool, taskId))?.nextCheck).toBeGreaterThan(300)
    await close({ taskId, n, ...rejected })
    const nextCheck = (await taskRow(world.pool, taskId))?.nextCheck
    expect(nextCheck).toBeGreaterThan(20)
    expect(nextCheck).toBeLessThanOrEqual(30)
  })

  it('that meets the uncommitted opening of its attempt waits for it and closes the attempt', async () => {
    const { taskId } = await insertTask(world.pool)
    const client = await world.pool.connect()
    await client.query('begin')
    await client.query(
      `select * from open_attempt($1, 1, 'an-late', 'this-process', 'workflow', 'b-main', 1000, 5000, 30000)`,
      [taskId],
    )
    const abandoning = world.attempts.abandonAttempt({ taskId, n: 1, answerId: 'an-late' })
    await untilLockAwaited(world.pool)
    await client.query('commit')
    client.release()
    await abandoning
    expect(await outcomesOf(world.pool, taskId)).toEqual(['refused not_called'])
    expect(await rowOf(taskId)).toEqual({ open: null, workPossible: false })
  })
})

describe('an attempt counts as lost', () => {
  it('not before the hard end while its worker cannot store a paid answer', async () => {
    const { taskId, n } = await opened()
    await endLease(world.pool, taskId)
    await world.attempts.extendLease(taskId, n)
    expect(await lose(taskId, n)).toBe(false)
    const { rows } = await world.pool.query(
      'select lease_until = hard_end_at as extended from attempt join task using (task_id) where task_id = $1',
      [taskId],
    )
    expect(rows).toEqual([{ extended: true }])
  })
})

describe('every attempt of an ended task is closed', () => {
  it('after an image of an earlier attempt: its place is free, and its answer is swept when no worker can store it any more', async () => {
    const first = await opened()
    const { taskId } = first
    await close({ taskId, n: 1, ...unknown })
    const second = await openAttempt(world.attempts, taskId, { channel })
    const input = { meta: testMeta(taskId, 1), answerId: first.answerId }
    expect(await world.attempts.settleTask(input)).toBe(true)
    expect(await outcomesOf(world.pool, taskId)).toEqual(['succeeded image', 'open '])
    await loseWorker(world.pool, taskId)
    expect(await lose(taskId, 2)).toBe(true)
    expect(await countOpenAttempts(world.pool, taskId)).toBe(0)
    const { rows } = await world.pool.query(
      `select sweep_after = hard_end_at + interval '1 hour' as later from upload join task using (task_id)
       where upload_id = $1`,
      [second.answerId],
    )
    expect(rows).toEqual([{ later: true }])
    expect(await isDue(first.answerId)).toBe(false)
    expect(await rowOf(taskId)).toMatchObject({ open: null })
  })

  it('after a failure at the hard end, also when the sweep had deleted the late answer before', async () => {
    const { taskId, n, answerId } = await opened()
    await setTask(world.pool, taskId, { hard_end_at: 'now()' })
    expect(await world.attempts.failTask(taskId, failure, 1)).toBe('failed')
    expect(await rowOf(taskId)).toEqual({ open: null, workPossible: true })
    await world.pool.query('delete from upload where upload_id = $1', [answerId])
    await close({ taskId, n, class: 'succeeded', evidence: { reason: 'image' } })
    expect(await isDue(answerId)).toBe(true)
    expect(await countOpenAttempts(world.pool, taskId)).toBe(0)
  })

  it('by its own settlement, so that a repeated close does not sweep the image that was charged', async () => {
    const { taskId, n, answerId } = await opened()
    await world.attempts.settleTask({ meta: testMeta(taskId), answerId })
    expect(await close({ taskId, n, ...unknown })).toBe(false)
    expect(await isDue(answerId)).toBe(false)
  })
})

it('a close and a settlement of the same task at once never deadlock', async () => {
  const logged: string[] = []
  await Promise.all(
    Array.from({ length: 200 }, async () => {
      const { taskId, n, answerId } = await opened()
      const settling = world.attempts.settleTask({ meta: testMeta(taskId), answerId })
      await Promise.all([close({ taskId, n, ...unknown }), settling])
      logged.push(...(await outcomesOf(world.pool, taskId)))
    }),
  )
  expect(new Set(logged)).toEqual(new Set(['succeeded image']))
  const { rows } = await world.pool.query(
    'select deadlocks::int from pg_stat_database where datname = current_database()',
  )
  expect(rows).toEqual([{ deadlocks: 0 }])
})

it('a task that was opened again says so to who asks with facts that are out of date', async () => {
  const { taskId, n } = await opened()
  await close({ taskId, n, ...rejected })
  expect(await askToOpen(world.attempts, taskId, { n: 1, channel })).toEqual({ kind: 'changed' })
  expect(await askToOpen(world.attempts, taskId, { n: 2, channel })).toMatchObject({
    kind: 'opened',
  })
})
