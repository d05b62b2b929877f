import { describe, expect, it } from 'vitest'
import type { AttemptClose } from '../../src/store/attempts/closeAttempt.ts'
import { useAttemptWorld } from '../support/database/attemptWorld.ts'
import { insertTask } from '../support/database/insertTask.ts'
import { endLease, setTask, taskRow } from '../support/database/reconcileWorld.ts'
import {
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
})
