import { describe, expect, it } from 'vitest'
import { useAttemptWorld } from '../support/database/attemptWorld.ts'
import { insertTask } from '../support/database/insertTask.ts'
import { openAttempt, setTask, taskRow } from '../support/database/reconcileWorld.ts'
import { outcomesOf, testChannel } from '../support/database/testAttempts.ts'

const world = useAttemptWorld([testChannel({ timeoutMs: 300_000 })])

const rejected = {
  class: 'rejected',
  evidence: { reason: 'content_policy', httpStatus: 400 },
} as const

async function nextCheckOf(taskId: string): Promise<number> {
  return (await taskRow(world.pool, taskId))?.nextCheck ?? Number.NaN
}

describe('closeAttempt', () => {
  it('moves the next check from after the lease to within half a minute', async () => {
    const { taskId } = await insertTask(world.pool)
    await setTask(world.pool, taskId, { started_at: 'now()' })
    const { n } = await openAttempt(world.attempts, taskId)
    expect(await nextCheckOf(taskId)).toBeGreaterThan(300)
    await world.attempts.closeAttempt({ taskId, n, ...rejected })
    const nextCheck = await nextCheckOf(taskId)
    expect(nextCheck).toBeGreaterThan(20)
    expect(nextCheck).toBeLessThanOrEqual(30)
  })

  it('records the native refusal, and changes nothing when it is repeated', async () => {
    const { taskId } = await insertTask(world.pool)
    const { n } = await openAttempt(world.attempts, taskId)
    const close = { taskId, n, ...rejected, nativeRejection: { candidates: [] } }
    await world.attempts.closeAttempt(close)
    await world.attempts.closeAttempt({ ...close, nativeRejection: { candidates: ['other'] } })
    const { rows } = await world.pool.query(
      'select native_rejection from task where task_id = $1',
      [taskId],
    )
    expect(rows).toEqual([{ native_rejection: '{"candidates":[]}' }])
  })
})

describe('abandonAttempt', () => {
  it('prevents that a statement of a lost connection opens the attempt later', async () => {
    const { taskId } = await insertTask(world.pool)
    const answerId = 'an-of-a-lost-connection'
    await world.attempts.abandonAttempt({ taskId, answerId })
    await world.attempts.abandonAttempt({ taskId, answerId })
    await expect(world.attempts.beginAttempt({ taskId, answerId })).rejects.toThrow('duplicate key')
    expect(await outcomesOf(world.pool, taskId)).toEqual([])
    expect(await world.attempts.beginAttempt({ taskId })).toMatchObject({ kind: 'opened' })
  })
})
