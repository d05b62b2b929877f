import { beforeAll, describe, expect, it } from 'vitest'
import type { AttemptStore } from '../../src/domain/ports/attemptStore.ts'
import { insertTask } from '../support/database/insertTask.ts'
import { openAttempt, setTask, taskRow } from '../support/database/reconcileWorld.ts'
import { createTestAttempts, outcomesOf, testChannel } from '../support/database/testAttempts.ts'
import type { TestDatabase } from '../support/database/testDatabase.ts'
import { createTestDatabase } from '../support/database/testDatabase.ts'

let database: TestDatabase
let attempts: AttemptStore

beforeAll(async () => {
  database = await createTestDatabase()
  attempts = await createTestAttempts(database.pool, [testChannel({ timeoutMs: 300_000 })])
  return () => database.drop()
})

const rejected = {
  class: 'rejected',
  evidence: { reason: 'content_policy', httpStatus: 400 },
} as const

async function nextCheckOf(taskId: string): Promise<number> {
  return (await taskRow(database.pool, taskId))?.nextCheck ?? Number.NaN
}

describe('closeAttempt', () => {
  it('moves the next check from after the lease to within half a minute', async () => {
    const { taskId } = await insertTask(database.pool)
    await setTask(database.pool, taskId, { started_at: 'now()' })
    const { n } = await openAttempt(attempts, taskId)
    expect(await nextCheckOf(taskId)).toBeGreaterThan(300)
    await attempts.closeAttempt({ taskId, n, ...rejected })
    const nextCheck = await nextCheckOf(taskId)
    expect(nextCheck).toBeGreaterThan(20)
    expect(nextCheck).toBeLessThanOrEqual(30)
  })

  it('moves the next check of a task without a run to within three seconds', async () => {
    const { taskId } = await insertTask(database.pool)
    const { n } = await openAttempt(attempts, taskId)
    await attempts.closeAttempt({ taskId, n, ...rejected })
    expect(await nextCheckOf(taskId)).toBeLessThanOrEqual(3)
  })

  it('does not postpone a check that was due sooner', async () => {
    const { taskId } = await insertTask(database.pool)
    const { n } = await openAttempt(attempts, taskId)
    await setTask(database.pool, taskId, { next_check_at: `now() + interval '5 seconds'` })
    await attempts.closeAttempt({ taskId, n, ...rejected })
    expect(await nextCheckOf(taskId)).toBeLessThanOrEqual(5)
  })

  it('records the native refusal, and changes nothing when it is repeated', async () => {
    const { taskId } = await insertTask(database.pool)
    const { n } = await openAttempt(attempts, taskId)
    const close = { taskId, n, ...rejected, nativeRejection: { candidates: [] } }
    await attempts.closeAttempt(close)
    await attempts.closeAttempt({ ...close, nativeRejection: { candidates: ['other'] } })
    const { rows } = await database.pool.query(
      'select native_rejection from task where task_id = $1',
      [taskId],
    )
    expect(rows).toEqual([{ native_rejection: '{"candidates":[]}' }])
  })
})

describe('abandonAttempt', () => {
  it('prevents that a statement of a lost connection opens the attempt later', async () => {
    const { taskId } = await insertTask(database.pool)
    const answerId = 'an-of-a-lost-connection'
    await attempts.abandonAttempt({ taskId, answerId })
    await attempts.abandonAttempt({ taskId, answerId })
    await expect(attempts.beginAttempt({ taskId, answerId })).rejects.toThrow('duplicate key')
    expect(await outcomesOf(database.pool, taskId)).toEqual([])
    expect(await attempts.beginAttempt({ taskId })).toMatchObject({ kind: 'opened' })
  })

  it('leaves the attempts of other questions alone', async () => {
    const { taskId } = await insertTask(database.pool)
    await openAttempt(attempts, taskId)
    await attempts.abandonAttempt({ taskId, answerId: 'an-of-another-question' })
    expect(await outcomesOf(database.pool, taskId)).toEqual(['open '])
  })
})
