import { describe, expect, it } from 'vitest'
import type { TaskFailure } from '../../src/domain/failure.ts'
import { useAttemptWorld } from '../support/database/attemptWorld.ts'
import { insertTask } from '../support/database/insertTask.ts'
import { balanceOf, endsOf } from '../support/database/money.ts'
import { testMeta } from '../support/database/testAttempts.ts'
import { openAttempt } from '../support/database/reconcileWorld.ts'

const world = useAttemptWorld()

const failure: TaskFailure = { code: 'upstream_error', cause: 'unknown', workPossible: true }

describe('cancelTask', () => {
  it('cancels a task while no call is under way, once', async () => {
    const { taskId, accountId } = await insertTask(world.pool)
    expect(await world.attempts.cancelTask(taskId, 'asked')).toBe('cancelled')
    expect(await world.attempts.cancelTask(taskId, 'asked')).toBe('cancelled')
    expect(await world.attempts.cancelTask(taskId, 'client_left')).toBe('cancelled')
    expect(await endsOf(world.pool, taskId)).toEqual(['release'])
    expect(await balanceOf(world.pool, accountId)).toEqual({ available: 1000, held: 0, spent: 0 })
  })

  it.each([
    ['open', 'call_under_way'],
    ['unknown', 'work_possible'],
  ] as const)('is no cancellation when an attempt is %s', async (stage, result) => {
    const { taskId, accountId } = await insertTask(world.pool)
    const { n } = await openAttempt(world.attempts, taskId)
    if (stage === 'unknown') {
      await world.attempts.closeAttempt({
        taskId,
        n,
        class: 'unknown',
        evidence: { reason: 'timeout' },
      })
    }
    for (const reason of ['asked', 'client_left'] as const) {
      expect(await world.attempts.cancelTask(taskId, reason)).toBe(result)
    }
    expect(await balanceOf(world.pool, accountId)).toMatchObject({ held: 10 })
  })

  it('is no cancellation when the task has ended otherwise, or does not exist', async () => {
    const [image, none] = [await insertTask(world.pool), await insertTask(world.pool)]
    const { answerId } = await openAttempt(world.attempts, image.taskId)
    await world.attempts.settleTask({ meta: testMeta(image.taskId), answerId })
    await world.attempts.failTask(none.taskId, failure)
    expect(await world.attempts.cancelTask(image.taskId, 'asked')).toBe('succeeded')
    expect(await world.attempts.cancelTask(none.taskId, 'asked')).toBe('failed')
    const absent = `task_${'0'.repeat(32)}`
    expect(await world.attempts.cancelTask(absent, 'asked')).toBe('missing')
  })

  it.each([
    ['asked', 'cancelled', 1],
    ['client_left', 'client_left', 0],
  ] as const)(
    'with the reason %s records the cause %s and leaves %i keys [cancel-6]',
    async (...row) => {
      const [reason, cause, keys] = row
      const { pool } = world
      const { taskId, accountId } = await insertTask(pool, { route: 'images.generations' })
      await pool.query(`insert into idempotency_key values ($1, '\\x01', $2)`, [accountId, taskId])
      await world.attempts.cancelTask(taskId, reason)
      const { rows } = await pool.query(
        `select failure_code as code, failure_cause as cause,
         (select count(*)::int from idempotency_key where task_id = $1) as keys
       from task where task_id = $1`,
        [taskId],
      )
      expect(rows).toEqual([{ code: 'cancelled', cause, keys }])
    },
  )
})
