import { beforeAll, describe, expect, it } from 'vitest'
import type { AbandonedAttempt, BeginInput } from '../../src/domain/ports/attemptStore.ts'
import type { ProduceImageDeps } from '../../src/tasks/produceImage.ts'
import { createProduceImage } from '../../src/tasks/produceImage.ts'
import { createMemoryBlobs } from '../support/blobs/memoryBlobs.ts'
import { insertTask } from '../support/database/insertTask.ts'
import { alwaysPresent, createTestAttempts, outcomesOf } from '../support/database/testAttempts.ts'
import type { TestDatabase } from '../support/database/testDatabase.ts'
import { createTestDatabase } from '../support/database/testDatabase.ts'
import { countedUpstream } from '../support/upstream/countedUpstream.ts'
import { stackStartMsMax } from '../support/stack/embeddedStack.ts'

let database: TestDatabase
let attempts: ProduceImageDeps['attempts']

beforeAll(async () => {
  database = await createTestDatabase()
  attempts = await createTestAttempts(database.pool)
  return () => database.drop()
}, stackStartMsMax)

async function letBackoffPass(taskId: string): Promise<void> {
  await database.pool.query(
    `update attempt set closed_at = closed_at - interval '1 minute' where task_id = $1`,
    [taskId],
  )
}

describe('askGate', () => {
  it('makes no call when the answer of the gate is too old, because the process was stopped', async () => {
    const { taskId } = await insertTask(database.pool)
    const { call, calls } = countedUpstream()
    let nowMs = 0
    const produce = createProduceImage({
      presence: alwaysPresent,
      attempts: {
        ...attempts,
        beginAttempt: async (input) => {
          const begun = await attempts.beginAttempt(input)
          nowMs += 60_000
          return begun
        },
      },
      blobs: createMemoryBlobs(),
      callUpstream: call,
      clocks: () => ({ monotonicMs: nowMs, wallMs: 0 }),
    })
    await expect(produce({ taskId })).rejects.toThrow('too old')
    expect(calls()).toBe(0)
  })

  it('closes the attempt of a call that it did not make, and never counts it as unknown', async () => {
    const { taskId } = await insertTask(database.pool)
    const { call, calls } = countedUpstream()
    let nowMs = 0
    let failuresLeft = 2
    const slow = {
      ...attempts,
      beginAttempt: async (input: BeginInput) => {
        const begun = await attempts.beginAttempt(input)
        nowMs += 9_000
        return begun
      },
      abandonAttempt: async (attempt: AbandonedAttempt) => {
        failuresLeft -= 1
        if (failuresLeft >= 0) throw new Error('PostgreSQL restarts')
        await attempts.abandonAttempt(attempt)
      },
    }
    const blobs = createMemoryBlobs()
    const produce = createProduceImage({
      presence: alwaysPresent,
      attempts: slow,
      blobs,
      callUpstream: call,
      clocks: () => ({ monotonicMs: nowMs, wallMs: 0 }),
    })
    await expect(produce({ taskId })).rejects.toThrow('too old')
    expect(await outcomesOf(database.pool, taskId)).toEqual(['refused not_called'])
    const again = createProduceImage({
      presence: alwaysPresent,
      attempts,
      blobs,
      callUpstream: call,
    })
    expect(await again({ taskId })).toMatchObject({ kind: 'wait', reason: 'backoff' })
    await letBackoffPass(taskId)
    expect(await again({ taskId })).toEqual({ kind: 'succeeded' })
    expect(calls()).toBe(1)
    const { rowCount } = await database.pool.query('select from cooldown')
    expect(rowCount).toBe(0)
  })

  it('closes the attempt of a commit whose answer was lost', async () => {
    const { taskId } = await insertTask(database.pool)
    const { call, calls } = countedUpstream()
    const losing = {
      ...attempts,
      beginAttempt: async (input: BeginInput) => {
        await attempts.beginAttempt(input)
        throw new Error('the connection is lost')
      },
    }
    const blobs = createMemoryBlobs()
    const produce = createProduceImage({
      presence: alwaysPresent,
      attempts: losing,
      blobs,
      callUpstream: call,
    })
    await expect(produce({ taskId })).rejects.toThrow('is lost')
    expect(await outcomesOf(database.pool, taskId)).toEqual(['refused not_called'])
    expect(calls()).toBe(0)
  })
})
