import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { OfferResult } from '../../src/domain/tasks/offer.ts'
import type { UpstreamOutcome } from '../../src/domain/upstream/upstreamCall.ts'
import type { ProduceResult } from '../../src/tasks/produceImage.ts'
import { createProduceImage } from '../../src/tasks/produceImage.ts'
import type { RequestRooms } from '../../src/tasks/requestRoom.ts'
import { createRequestRooms } from '../../src/tasks/requestRoom.ts'
import { createOfferTaker } from '../../src/tasks/takeOffers.ts'
import { createMemoryBlobs } from '../support/blobs/memoryBlobs.ts'
import { insertTask } from '../support/database/insertTask.ts'
import { alwaysPresent, createTestAttempts, outcomesOf } from '../support/database/testAttempts.ts'
import { useTestDatabase } from '../support/database/testDatabase.ts'

const failure = { code: 'upstream_error', cause: 'unknown', workPossible: true } as const

function world(produce: (taskId: string) => Promise<ProduceResult>) {
  const results: OfferResult[] = []
  const runs: string[] = []
  const failed: string[] = []
  const errors: string[] = []
  const stopping = new AbortController()
  const taker = createOfferTaker({
    produceImage: ({ taskId, via }) => {
      expect(via).toBe('offer')
      return produce(taskId)
    },
    endOfFirstCall: async (taskId) =>
      taskId === 'refused' ? { failure, accountId: 'acc' } : undefined,
    failTask: async (taskId) => {
      failed.push(taskId)
      return 'failed'
    },
    continueAsRun: async (taskId) => void runs.push(taskId),
    slots: { A: 1, B: 2 },
    stopping: stopping.signal,
    onResult: (result) => void results.push(result),
    onUnexpected: (taskId) => void errors.push(taskId),
  })
  return { taker, results, runs, failed, errors, stopping }
}

describe('an offer', () => {
  it.each([
    [{ kind: 'succeeded' }, 'succeeded'],
    [{ kind: 'over' }, 'over'],
    [{ kind: 'end', failure }, 'failed'],
  ] as const)('whose task has ended is not continued: %j', async (result, expected) => {
    const { taker, results, runs, failed } = world(async () => result)
    taker.take({ taskId: 'task', family: 'B' })
    await taker.idle()
    expect(results).toEqual([expected])
    expect(runs).toEqual([])
    expect(failed).toEqual(result.kind === 'end' ? ['task'] : [])
  })

  it.each([
    [{ kind: 'wait', delayMs: 4_000, reason: 'cooldown' }],
    [{ kind: 'wait', delayMs: 10, reason: 'backoff' }],
  ] as const)('is continued as a run when it must wait: %j', async (result) => {
    const { taker, results, runs } = world(async () => result)
    taker.take({ taskId: 'task', family: 'B' })
    await taker.idle()
    expect(results).toEqual(['wait'])
    expect(runs).toEqual(['task'])
  })

  it('waits a moment in line for a place on its channel', async () => {
    let asked = 0
    const { taker, results } = world(async () => {
      asked += 1
      if (asked > 3) return { kind: 'succeeded' }
      return { kind: 'wait', delayMs: 20, reason: 'channel_full' }
    })
    taker.take({ taskId: 'task', family: 'B' })
    await taker.idle()
    expect(results).toEqual(['succeeded'])
  })

  it('is continued as a run after an error, and the error is reported', async () => {
    const { taker, results, runs, errors } = world(() => Promise.reject(new Error('no answer')))
    taker.take({ taskId: 'task', family: 'B' })
    await taker.idle()
    expect([results, runs, errors]).toEqual([['error'], ['task'], ['task']])
  })

  it('beyond the slots of its family is continued as a run at once, and no other family is affected', async () => {
    const done = Promise.withResolvers<ProduceResult>()
    const { taker, results, runs } = world(() => done.promise)
    for (const taskId of ['b1', 'b2', 'b3']) taker.take({ taskId, family: 'B' })
    taker.take({ taskId: 'a1', family: 'A' })
    await sleep(5)
    expect(runs).toEqual(['b3'])
    done.resolve({ kind: 'succeeded' })
    await taker.idle()
    taker.take({ taskId: 'b4', family: 'B' })
    await taker.idle()
    expect(results.toSorted()).toEqual(['no_slot', ...Array(4).fill('succeeded')])
  })

  it('beyond the slots of its family ends at once when its task must end now', async () => {
    const done = Promise.withResolvers<ProduceResult>()
    const { taker, results, runs, failed } = world(() => done.promise)
    for (const taskId of ['b1', 'b2', 'refused']) taker.take({ taskId, family: 'B' })
    await sleep(5)
    expect([results, runs, failed]).toEqual([['failed'], [], ['refused']])
    done.resolve({ kind: 'succeeded' })
    await taker.idle()
  })

  it('is continued as a run when the process stops', async () => {
    const { taker, results, runs, stopping } = world(async () => ({
      kind: 'wait',
      delayMs: 0,
      reason: 'stopping',
    }))
    stopping.abort()
    taker.take({ taskId: 'task', family: 'B' })
    await taker.idle()
    expect([results, runs]).toEqual([['stopping'], ['task']])
  })
})

describe('an offer with a large request', () => {
  const database = useTestDatabase()

  const refusal: UpstreamOutcome = {
    class: 'rejected',
    evidence: { reason: 'content_policy', httpStatus: 400 },
  }

  /** Offers of one account whose requests have a mebibyte. Each call ends when `answer` is called. */
  async function largeOffers(rooms: RequestRooms) {
    const attempts = await createTestAttempts(database.pool)
    const answered = Promise.withResolvers<void>()
    const called: string[] = []
    const produceImage = createProduceImage({
      attempts,
      blobs: createMemoryBlobs(),
      presence: alwaysPresent,
      rooms,
      callUpstream: async ({ origin }) => {
        called.push(origin.taskId)
        await answered.promise
        return refusal
      },
    })
    const made = world((taskId) => produceImage({ taskId, via: 'offer' }))
    const prompt = 'p'.repeat(1024 * 1024)
    const route = 'images.generations'
    const first = await insertTask(database.pool, { prompt, route })
    const second = await insertTask(database.pool, { ...first, prompt, route })
    const offer = (taskId: string) => made.taker.take({ taskId, family: 'B' })
    return { ...made, offer, called, first, second, answer: answered.resolve }
  }

  it('waits a moment for memory of the worker', async () => {
    const rooms = createRequestRooms({ bytesMax: 2 * 1024 * 1024 })
    const { offer, taker, called, first, second, answer, results, runs } = await largeOffers(rooms)
    offer(first.taskId)
    await expect.poll(() => called).toEqual([first.taskId])
    offer(second.taskId)
    await sleep(300)
    expect(called).toEqual([first.taskId])
    answer()
    await taker.idle()
    expect(called).toEqual([first.taskId, second.taskId])
    expect([results, runs]).toEqual([['failed', 'failed'], []])
  })

  it('is continued as a run when the worker has no memory for it, and opens no attempt', async () => {
    const full: RequestRooms = {
      during: (work) =>
        work({ bytesMax: () => 256 * 1024, cover: async () => false, end: () => {} }),
      retryDelayMs: () => 2_000,
    }
    const { offer, taker, called, first, results, runs } = await largeOffers(full)
    offer(first.taskId)
    await taker.idle()
    expect([results, runs, called]).toEqual([['wait'], [first.taskId], []])
    expect(await outcomesOf(database.pool, first.taskId)).toEqual([])
  })
})
