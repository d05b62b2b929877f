import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { AttemptClose } from '../../src/domain/ports/attemptStore.ts'
import type { BlobStore } from '../../src/domain/ports/blobStore.ts'
import type { UpstreamCaller } from '../../src/domain/upstream/upstreamCall.ts'
import type { RequestRooms } from '../../src/tasks/requestRoom.ts'
import { createMemoryBlobs } from '../support/blobs/memoryBlobs.ts'
import { useAttemptWorld } from '../support/database/attemptWorld.ts'
import { insertTask } from '../support/database/insertTask.ts'
import { balanceOf } from '../support/database/money.ts'
import { setTask } from '../support/database/reconcileWorld.ts'
import { loseWorker, outcomesOf } from '../support/database/testAttempts.ts'
import { createTestProduceImage } from '../support/database/testProduceImage.ts'
import { countedUpstream, succeeded } from '../support/upstream/countedUpstream.ts'

const world = useAttemptWorld()

function failing(blobs: BlobStore, times: number): BlobStore {
  let left = times
  return {
    ...blobs,
    put: async (...written) => {
      left -= 1
      if (left >= 0) throw new Error('the disk is full')
      return blobs.put(...written)
    },
  }
}

describe('produceImage', () => {
  it('calls once, stores, settles and charges', async () => {
    const { taskId, accountId } = await insertTask(world.pool)
    const { call, calls } = countedUpstream()
    const produce = createTestProduceImage({ attempts: world.attempts, callUpstream: call })
    expect(await produce({ taskId })).toEqual({ kind: 'succeeded' })
    expect(await produce({ taskId })).toEqual({ kind: 'over' })
    expect(calls()).toBe(1)
    expect(await balanceOf(world.pool, accountId)).toMatchObject({ held: 0, spent: 10 })
  })

  it('settles a stored answer after a crash instead of calling again', async () => {
    const { taskId } = await insertTask(world.pool)
    const blobs = createMemoryBlobs()
    const { call, calls } = countedUpstream()
    const crashing = { ...world.attempts, settleTask: () => Promise.reject(new Error('killed')) }
    const first = createTestProduceImage({ attempts: crashing, blobs, callUpstream: call })
    await expect(first({ taskId })).rejects.toThrow('killed')
    const second = createTestProduceImage({ attempts: world.attempts, blobs, callUpstream: call })
    expect(await second({ taskId })).toEqual({ kind: 'succeeded' })
    expect(calls()).toBe(1)
  })

  it('settles an answer that nobody looked for when its worker was lost, although no call may follow', async () => {
    const { taskId } = await insertTask(world.pool)
    const blobs = createMemoryBlobs()
    const { call, calls } = countedUpstream()
    const crashing = { ...world.attempts, settleTask: () => Promise.reject(new Error('killed')) }
    const first = createTestProduceImage({ attempts: crashing, blobs, callUpstream: call })
    await expect(first({ taskId })).rejects.toThrow('killed')
    await loseWorker(world.pool, taskId)
    await world.attempts.beginAttempt({ taskId, checked: 1 })
    expect(await outcomesOf(world.pool, taskId)).toEqual(['unknown worker_lost'])
    await setTask(world.pool, taskId, { deadline_at: 'now()' })
    const second = createTestProduceImage({ attempts: world.attempts, blobs, callUpstream: call })
    expect(await second({ taskId })).toEqual({ kind: 'succeeded' })
    expect(calls()).toBe(1)
  })

  it('repeats a failed store without calling again', async () => {
    const { taskId } = await insertTask(world.pool)
    const { call, calls } = countedUpstream()
    const blobs = failing(createMemoryBlobs(), 3)
    const produce = createTestProduceImage({ attempts: world.attempts, blobs, callUpstream: call })
    expect(await produce({ taskId })).toEqual({ kind: 'succeeded' })
    expect(calls()).toBe(1)
  })

  it('records a refusal as such, also after its worker counted as lost', async () => {
    const { taskId } = await insertTask(world.pool)
    const evidence = { reason: 'rate_limited', httpStatus: 429 } as const
    const { call } = countedUpstream({ class: 'refused', evidence, retryAfterMs: 60_000 })
    let failuresLeft = 1
    const away = {
      ...world.attempts,
      closeAttempt: async (close: AttemptClose) => {
        failuresLeft -= 1
        if (failuresLeft < 0) return world.attempts.closeAttempt(close)
        await loseWorker(world.pool, taskId)
        await world.attempts.beginAttempt({ taskId, checked: 1 })
        expect(await outcomesOf(world.pool, taskId)).toEqual(['unknown worker_lost'])
        throw new Error('PostgreSQL restarts')
      },
    }
    const produce = createTestProduceImage({ attempts: away, callUpstream: call })
    expect(await produce({ taskId })).toMatchObject({ kind: 'wait', reason: 'cooldown' })
    expect(await outcomesOf(world.pool, taskId)).toEqual(['refused rate_limited'])
    await world.pool.query('delete from cooldown')
  })

  it('makes no call with a large request while the worker has no memory for it', async () => {
    const { taskId } = await insertTask(world.pool, { prompt: 'p'.repeat(1024 * 1024) })
    const { call, calls } = countedUpstream()
    const rooms: RequestRooms = {
      during: (work) =>
        work({ bytesMax: () => 256 * 1024, cover: async () => false, end: () => {} }),
      retryDelayMs: () => 2_000,
    }
    const produce = createTestProduceImage({ attempts: world.attempts, callUpstream: call, rooms })
    const full = { kind: 'wait', reason: 'worker_full', delayMs: 2_000 }
    expect(await produce({ taskId })).toMatchObject(full)
    expect(calls()).toBe(0)
    const roomy = createTestProduceImage({ attempts: world.attempts, callUpstream: call })
    expect(await roomy({ taskId })).toEqual({ kind: 'succeeded' })
  })

  it('tries to store until the hard end, also after a long call', async () => {
    const { taskId } = await insertTask(world.pool, { deadlineSeconds: 1, hardEndSeconds: 2 })
    const startedAtMs = performance.now()
    const callUpstream: UpstreamCaller = async () => {
      await sleep(1_300)
      return succeeded()
    }
    const produce = createTestProduceImage({
      attempts: world.attempts,
      blobs: failing(createMemoryBlobs(), 1_000),
      callUpstream,
    })
    await expect(produce({ taskId })).rejects.toThrow('the disk is full')
    expect(performance.now() - startedAtMs).toBeLessThan(2_800)
  })

  it.each([
    ['after the signal aborted', 'stopping', { signal: AbortSignal.abort() }, true],
    ['while other processes may count this one as lost', 'not_present', {}, false],
  ] as const)('starts no call %s', async (_when, reason, given, mayCall) => {
    const { taskId } = await insertTask(world.pool)
    const { call, calls } = countedUpstream()
    const produce = createTestProduceImage({
      beats: { mayCall: () => mayCall },
      attempts: world.attempts,
      callUpstream: call,
    })
    expect(await produce({ taskId, ...given })).toMatchObject({ kind: 'wait', reason })
    expect(calls()).toBe(0)
  })
})
