import { describe, expect, it } from 'vitest'
import type { AbandonedAttempt, BeginInput } from '../../src/domain/ports/attemptStore.ts'
import { createMemoryBlobs } from '../support/blobs/memoryBlobs.ts'
import { useAttemptWorld } from '../support/database/attemptWorld.ts'
import { insertTask } from '../support/database/insertTask.ts'
import { outcomesOf, letBackoffPass } from '../support/database/testAttempts.ts'
import { createTestProduceImage } from '../support/database/testProduceImage.ts'
import { countedUpstream } from '../support/upstream/countedUpstream.ts'

const world = useAttemptWorld()

describe('askGate', () => {
  it('closes the attempt of a call that it did not make, and never counts it as unknown', async () => {
    const { taskId } = await insertTask(world.pool)
    const { call, calls } = countedUpstream()
    let nowMs = 0
    let failuresLeft = 2
    const slow = {
      ...world.attempts,
      beginAttempt: async (input: BeginInput) => {
        const begun = await world.attempts.beginAttempt(input)
        nowMs += 9_000
        return begun
      },
      abandonAttempt: async (attempt: AbandonedAttempt) => {
        failuresLeft -= 1
        if (failuresLeft >= 0) throw new Error('PostgreSQL restarts')
        await world.attempts.abandonAttempt(attempt)
      },
    }
    const blobs = createMemoryBlobs()
    const produce = createTestProduceImage({
      attempts: slow,
      blobs,
      callUpstream: call,
      clocks: () => ({ monotonicMs: nowMs, wallMs: 0 }),
    })
    await expect(produce({ taskId })).rejects.toThrow('too old')
    expect(await outcomesOf(world.pool, taskId)).toEqual(['refused not_called'])
    const again = createTestProduceImage({ attempts: world.attempts, blobs, callUpstream: call })
    expect(await again({ taskId })).toMatchObject({ kind: 'wait', reason: 'backoff' })
    await letBackoffPass(world.pool, taskId)
    expect(await again({ taskId })).toEqual({ kind: 'succeeded' })
    expect(calls()).toBe(1)
    const { rowCount } = await world.pool.query('select from cooldown')
    expect(rowCount).toBe(0)
  })

  it('closes the attempt of a commit whose answer was lost', async () => {
    const { taskId } = await insertTask(world.pool)
    const { call, calls } = countedUpstream()
    const losing = {
      ...world.attempts,
      beginAttempt: async (input: BeginInput) => {
        await world.attempts.beginAttempt(input)
        throw new Error('the connection is lost')
      },
    }
    const produce = createTestProduceImage({ attempts: losing, callUpstream: call })
    await expect(produce({ taskId })).rejects.toThrow('is lost')
    expect(await outcomesOf(world.pool, taskId)).toEqual(['refused not_called'])
    expect(calls()).toBe(0)
  })
})
