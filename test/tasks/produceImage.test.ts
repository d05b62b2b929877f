import { describe, expect, it, vi } from 'vitest'
import type { LargeRequests } from '../../src/tasks/produce/largeRequests.ts'
import { createLargeRequests, largeBytes } from '../../src/tasks/produce/largeRequests.ts'
import type { BlobStore } from '../../src/domain/ports/blobStore.ts'
import type { ImageRequest } from '../../src/domain/tasks/imageRequest.ts'
import type { UpstreamCaller } from '../../src/domain/upstream/upstreamCall.ts'
import type { AttemptStore } from '../../src/store/attempts/attemptStore.ts'
import type { AttemptClose } from '../../src/store/attempts/closeAttempt.ts'
import type { OpenInput } from '../../src/store/attempts/openAttempt.ts'
import type { Stage } from '../../src/tasks/produce/produceInput.ts'
import type { Logger } from '../../src/telemetry/logger.ts'
import { createMemoryBlobs } from '../support/blobs/memoryBlobs.ts'
import { useAttemptWorld } from '../support/database/attemptWorld.ts'
import { insertTask } from '../support/database/insertTask.ts'
import { balanceOf, endsOf } from '../support/database/money.ts'
import { setTask } from '../support/database/reconcileWorld.ts'
import {
  countOpenAttempts,
  createTestAttempts,
  loseCall,
  loseWorker,
  openAttempt,
  outcomesOf,
  testChannel,
} from '../support/database/testAttempts.ts'
import { createTestProduceImage } from '../support/database/testProduceImage.ts'
import { quiet } from '../support/quiet.ts'
import { until } from '../support/timing.ts'
import { countedUpstream, succeeded } from '../support/upstream/countedUpstream.ts'

const firstOf = { family: 'B', model: 'familyb-image-2-vip' } as const

const world = useAttemptWorld()

const rateLimited = { reason: 'rate_limited', httpStatus: 429 } as const
const rejected = { class: 'rejected', evidence: { reason: 'content_policy' } } as const

function failing(blobs: BlobStore, times: number): BlobStore {
  let left = times
  return {
    ...blobs,
    put: async (...given) => {
      left -= 1
      if (left >= 0) throw new Error('the disk is full')
      return blobs.put(...given)
    },
  }
}

/** A channel that only one test uses, and `produceImage` on it. */
async function ownWorld(name: string, callUpstream: UpstreamCaller, concurrencyMax = 50) {
  const channel = testChannel({ name, concurrencyMax })
  const attempts = await createTestAttempts(world.pool, [channel])
  const produce = createTestProduceImage({ attempts, callUpstream, channels: [channel] })
  return { channel, attempts, produce }
}

/** Calls for a task in a process that dies right before it settles. */
async function dieBeforeSettling(
  taskId: string,
  blobs: BlobStore,
  callUpstream: UpstreamCaller,
): Promise<void> {
  const { promise: stored, resolve } = Promise.withResolvers<void>()
  const settleTask = () => {
    resolve()
    return new Promise<never>(() => {})
  }
  const attempts = { ...world.attempts, settleTask }
  void createTestProduceImage({ attempts, blobs, callUpstream })({ taskId })
  await stored
}

describe('produceImage', () => {
  it('records a failure, and returns the same end when it runs again', async () => {
    const { taskId, accountId } = await insertTask(world.pool)
    const { call, calls } = countedUpstream(rejected)
    const produce = createTestProduceImage({ attempts: world.attempts, callUpstream: call })
    const failure = { code: 'content_policy_violation', cause: 'rejected', workPossible: false }
    expect(await produce({ taskId })).toEqual({ kind: 'failed', failure, channel: 'b-main' })
    expect(await produce({ taskId })).toEqual({ kind: 'over', end: failure })
    expect(calls()).toBe(1)
    expect(await balanceOf(world.pool, accountId)).toMatchObject({ held: 0, available: 1000 })
  })

  it('returns a long wait, and sleeps a short one', async () => {
    const refused = { class: 'refused', evidence: rateLimited, retryAfterMs: 60_000 } as const
    const { call } = countedUpstream({ ...refused, retryAfterMs: 600 }, refused)
    const { produce } = await ownWorld('waits', call)
    const { taskId } = await insertTask(world.pool)
    expect(await produce({ taskId })).toEqual({
      kind: 'wait',
      reason: 'cooldown',
      channel: 'waits',
      delayMs: expect.closeTo(60_000, -3),
    })
    expect(await outcomesOf(world.pool, taskId)).toHaveLength(2)
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

describe('the first call of a task', () => {
  /** `produceImage` of a process that knows one channel, and what it asks before its calls. */
  function watched(callUpstream: UpstreamCaller) {
    const reads: string[] = []
    const entered: number[] = []
    const attempts: AttemptStore = {
      ...world.attempts,
      readTaskFacts: (taskId) => {
        reads.push(taskId)
        return world.attempts.readTaskFacts(taskId)
      },
    }
    const largeRequests: LargeRequests = {
      tryEnter: (bytes) => {
        entered.push(bytes)
        return () => {}
      },
      enter: () => Promise.reject(new Error('there was a turn')),
    }
    const channels = [testChannel()]
    const produce = createTestProduceImage({ attempts, channels, callUpstream, largeRequests })
    return { produce, reads, entered }
  }

  it('is made without reading the facts of the task', async () => {
    const { taskId } = await insertTask(world.pool)
    const { produce, reads } = watched(countedUpstream().call)
    expect(await produce({ taskId, firstOf })).toEqual({ kind: 'succeeded' })
    expect(reads).toEqual([])
  })

  it('waits for its turn when its request is large', async () => {
    const { taskId } = await insertTask(world.pool, { prompt: 'x'.repeat(300_000) })
    const { produce, entered } = watched(countedUpstream().call)
    expect(await produce({ taskId, firstOf })).toEqual({ kind: 'succeeded' })
    expect(entered).toEqual([expect.toSatisfy((bytes) => bytes > 300_000)])
  })

  it('is not made when the task has ended or has a call under way', async () => {
    const { call, calls } = countedUpstream()
    const { produce } = watched(call)
    const { taskId } = await insertTask(world.pool)
    await openAttempt(world.attempts, taskId)
    const wait = { kind: 'wait', reason: 'call_under_way' }
    expect(await produce({ taskId, firstOf })).toMatchObject(wait)
    const ended = await insertTask(world.pool)
    await world.attempts.cancelTask(ended.taskId, 'asked')
    const over = { kind: 'over', end: { code: 'cancelled' } }
    expect(await produce({ taskId: ended.taskId, firstOf })).toMatchObject(over)
    expect(calls()).toBe(0)
  })
})

describe('after a crash', () => {
  it('a stored answer is settled instead of a new call', async () => {
    const { taskId } = await insertTask(world.pool)
    const blobs = createMemoryBlobs()
    const { call, calls } = countedUpstream()
    await dieBeforeSettling(taskId, blobs, call)
    const second = createTestProduceImage({ attempts: world.attempts, blobs, callUpstream: call })
    const underWay = { kind: 'wait', reason: 'call_under_way' }
    expect(await second({ taskId })).toMatchObject(underWay)
    await loseWorker(world.pool, taskId)
    expect(await second({ taskId })).toEqual({ kind: 'succeeded' })
    expect(calls()).toBe(1)
  })

  it('a failure that was decided before another worker stored an answer is refused, and the answer settled', async () => {
    const blobs = createMemoryBlobs()
    const { call } = countedUpstream()
    const { taskId } = await insertTask(world.pool)
    const late: AttemptStore = {
      ...world.attempts,
      failTask: async (...given) => {
        if ((await outcomesOf(world.pool, taskId)).length === 0) {
          await setTask(world.pool, taskId, { deadline_at: `now() + interval '1 minute'` })
          await dieBeforeSettling(taskId, blobs, call)
          await loseCall(world.pool, world.attempts, taskId)
        }
        return world.attempts.failTask(...given)
      },
    }
    await setTask(world.pool, taskId, { deadline_at: 'now()' })
    const produce = createTestProduceImage({ attempts: late, blobs, callUpstream: call })
    expect(await produce({ taskId })).toEqual({ kind: 'succeeded' })
    expect(await endsOf(world.pool, taskId)).toEqual(['settle'])
  })
})

it('the log of a call says what was seen of it, also how much of its response was not stored', async () => {
  const { taskId } = await insertTask(world.pool)
  const answer = succeeded()
  const evidence = { reason: 'image', latencyMs: 2.4, leftOutBytes: 77 } as const
  const { call: callUpstream } = countedUpstream({ ...answer, evidence })
  const info = vi.fn<Logger['info']>()
  const log = { ...quiet.log, info }
  await createTestProduceImage({ attempts: world.attempts, callUpstream, log })({ taskId })
  const about = { taskId, attempt: 1, channel: 'b-main', class: 'succeeded', reason: 'image' }
  const fields = { ...about, leftOutBytes: 77, durationMs: 2 }
  expect(info.mock.calls).toContainEqual(['upstream call', fields])
})

describe('an answer that cannot be stored', () => {
  it('is stored again and again, without another call, and the log says so once', async () => {
    const { taskId } = await insertTask(world.pool)
    const { call: callUpstream, calls } = countedUpstream()
    const blobs = failing(createMemoryBlobs(), 3)
    const { attempts } = world
    const warn = vi.fn<Logger['warn']>()
    const log = { ...quiet.log, warn }
    const produce = createTestProduceImage({ attempts, blobs, callUpstream, log })
    expect(await produce({ taskId })).toEqual({ kind: 'succeeded' })
    expect(calls()).toBe(1)
    expect(warn.mock.calls).toEqual([
      ['answer not stored yet', expect.objectContaining({ taskId, attempt: 1 })],
    ])
  })

  it('keeps its lease to the hard end, also while the store neither fails nor answers', async () => {
    const { taskId } = await insertTask(world.pool)
    const { call } = countedUpstream()
    const stored = Promise.withResolvers<void>()
    const blobs: BlobStore = { ...createMemoryBlobs(), put: () => stored.promise }
    const channel = testChannel({ name: 'hanging', timeoutMs: 100 })
    const attempts = await createTestAttempts(world.pool, [channel])
    const producing = createTestProduceImage({ attempts, blobs, callUpstream: call })({ taskId })
    await until('the lease to the hard end', async () => {
      const { rows } = await world.pool.query<{ moved: boolean }>(
        'select lease_until = hard_end_at as moved from attempt join task using (task_id) where task_id = $1',
        [taskId],
      )
      return rows[0]?.moved === true ? true : undefined
    })
    stored.resolve()
    expect(await producing).toEqual({ kind: 'succeeded' })
  })

  it('is swept when its upload was already swept, because its worker had counted as lost', async () => {
    const { taskId } = await insertTask(world.pool)
    const failure = { code: 'upstream_error', cause: 'unknown', workPossible: true } as const
    const blobs = createMemoryBlobs()
    const produce = createTestProduceImage({
      attempts: world.attempts,
      blobs,
      callUpstream: async () => {
        await setTask(world.pool, taskId, { hard_end_at: 'now()' })
        await world.attempts.failTask(taskId, failure, 1)
        await loseCall(world.pool, world.attempts, taskId)
        await world.pool.query('delete from upload where task_id = $1', [taskId])
        return succeeded()
      },
    })
    expect(await produce({ taskId })).toEqual({ kind: 'over', end: failure })
    const { rows } = await world.pool.query(
      'select sweep_after <= now() as due from upload where task_id = $1',
      [taskId],
    )
    expect(rows).toEqual([{ due: true }])
  })
})

describe('every attempt is closed', () => {
  it('when the call throws', async () => {
    const { taskId } = await insertTask(world.pool)
    const produce = createTestProduceImage({
      attempts: world.attempts,
      callUpstream: () => Promise.reject(new Error('a bug')),
    })
    await expect(produce({ taskId })).rejects.toThrow('a bug')
    expect(await outcomesOf(world.pool, taskId)).toEqual(['unknown worker_lost'])
  })

  it('with its outcome, while PostgreSQL is away for a moment', async () => {
    const { taskId } = await insertTask(world.pool)
    let failuresLeft = 2
    const closeAttempt = async (close: AttemptClose) => {
      failuresLeft -= 1
      if (failuresLeft >= 0) throw new Error('PostgreSQL restarts')
      return world.attempts.closeAttempt(close)
    }
    const attempts = { ...world.attempts, closeAttempt }
    const { call } = countedUpstream(rejected)
    const produce = createTestProduceImage({ attempts, callUpstream: call })
    expect(await produce({ taskId })).toMatchObject({ kind: 'failed' })
    expect(await outcomesOf(world.pool, taskId)).toEqual(['rejected content_policy'])
  })
})

describe('a call that is surely not made', () => {
  it('is closed as not called when the process stood still before its first byte', async () => {
    const { taskId } = await insertTask(world.pool)
    const allowed: (boolean | undefined)[] = []
    const produce = createTestProduceImage({
      attempts: world.attempts,
      callUpstream: async ({ mayBegin }) => {
        allowed.push(mayBegin?.())
        const stood = vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 7_001)
        allowed.push(mayBegin?.())
        stood.mockRestore()
        return { class: 'refused', evidence: { reason: 'not_called' } }
      },
    })
    expect(await produce({ taskId })).toMatchObject({ kind: 'wait', reason: 'backoff' })
    expect(allowed).toEqual([true, false])
    expect(await outcomesOf(world.pool, taskId)).toEqual(['refused not_called'])
    const { rowCount } = await world.pool.query(`select from cooldown where channel = 'b-main'`)
    expect(rowCount).toBe(0)
  })

  it('is made after all when only the reply was lost, as one attempt', async () => {
    const { taskId } = await insertTask(world.pool)
    const { call, calls } = countedUpstream()
    let lost = 0
    const losing = {
      ...world.attempts,
      openAttempt: async (input: OpenInput) => {
        const opened = await world.attempts.openAttempt(input)
        lost += 1
        if (lost <= 2) throw new Error('the connection is lost')
        return opened
      },
    }
    const produce = createTestProduceImage({ attempts: losing, callUpstream: call })
    expect(await produce({ taskId })).toEqual({ kind: 'succeeded' })
    expect(await outcomesOf(world.pool, taskId)).toEqual(['succeeded image'])
    expect(calls()).toBe(1)
  })

  it('is closed as not called when PostgreSQL gives no reply for long', async () => {
    const { taskId } = await insertTask(world.pool)
    const { call } = countedUpstream()
    let failuresLeft = 4
    const losing = {
      ...world.attempts,
      openAttempt: async (input: OpenInput) => {
        await world.attempts.openAttempt(input)
        throw new Error('the connection is lost')
      },
      closeAttempt: async (close: AttemptClose) => {
        failuresLeft -= 1
        if (failuresLeft >= 0) throw new Error('the connection is lost')
        return world.attempts.closeAttempt(close)
      },
    }
    const produce = createTestProduceImage({ attempts: losing, callUpstream: call })
    await expect(produce({ taskId })).rejects.toThrow('is lost')
    await until('the close', async () =>
      (await countOpenAttempts(world.pool, taskId)) === 0 ? true : undefined,
    )
    expect(await outcomesOf(world.pool, taskId)).toEqual(['refused not_called'])
  })
})

it('a task in a slot does not stay there while other large requests keep every turn', async () => {
  const { taskId } = await insertTask(world.pool, { prompt: 'x'.repeat(300_000) })
  const { call, calls } = countedUpstream()
  const { attempts } = world
  const largeRequests = createLargeRequests()
  const turns = Array.from({ length: 4 }, () => largeRequests.tryEnter(largeBytes + 1))
  const produce = createTestProduceImage({ attempts, callUpstream: call, largeRequests })
  expect(await produce({ taskId })).toMatchObject({ kind: 'wait', reason: 'large_request' })
  for (const leave of turns) leave?.()
  expect(await produce({ taskId })).toEqual({ kind: 'succeeded' })
  expect(calls()).toBe(1)
})

it('no call begins after a stop, also when the task waits for its turn to read a large request', async () => {
  const { taskId } = await insertTask(world.pool, { prompt: 'x'.repeat(300_000) })
  const { call, calls } = countedUpstream()
  const stop = new AbortController()
  const { attempts } = world
  const largeRequests = createLargeRequests()
  const turns = Array.from({ length: 4 }, () => largeRequests.tryEnter(largeBytes + 1))
  const produce = createTestProduceImage({ attempts, callUpstream: call, largeRequests })
  const producing = produce({ taskId, signal: stop.signal })
  setTimeout(() => stop.abort(), 300)
  expect(await producing).toMatchObject({ reason: 'stopping' })
  for (const leave of turns) leave?.()
  expect(largeRequests.tryEnter(largeBytes + 1)).toBeDefined()
  expect(calls()).toBe(0)
})

describe('on a full channel', () => {
  const isLarge = ({ body }: ImageRequest) => JSON.stringify(body).length > largeBytes

  async function countOpen(channel: string): Promise<number | null> {
    const { rowCount } = await world.pool.query(
      'select from attempt where channel = $1 and closed_at is null',
      [channel],
    )
    return rowCount
  }

  it('a newcomer does not take the place of a task that waits', async () => {
    const order: string[] = []
    const { produce, channel, attempts } = await ownWorld(
      'newcomers',
      async ({ upstreamKey }) => {
        order.push(upstreamKey)
        return succeeded()
      },
      1,
    )
    const holder = await insertTask(world.pool)
    await openAttempt(attempts, holder.taskId, { channel })
    const [waiting, newcomer] = [await insertTask(world.pool), await insertTask(world.pool)]
    const stages: string[] = []
    const onStage = ({ stage }: Stage) => stages.push(stage)
    const first = produce({ taskId: waiting.taskId, onStage })
    await until('a task in line', () => stages.includes('waiting') || undefined)
    const evidence = { reason: 'no_image' } as const
    await attempts.closeAttempt({ taskId: holder.taskId, n: 1, class: 'rejected', evidence })
    const second = produce({ taskId: newcomer.taskId, firstOf })
    await Promise.all([first, second])
    expect(order).toEqual([`${waiting.taskId}-1`, `${newcomer.taskId}-1`])
    expect(stages).toEqual(['waiting', 'calling', 'storing'])
  })

  it('a large request that finds no turn at the head of a line lets smaller ones go on, and comes back', async () => {
    const large = 'x'.repeat(300_000)
    const ended: string[] = []
    const unread = Promise.withResolvers<void>()
    const { produce, channel, attempts } = await ownWorld(
      'large',
      async ({ upstreamKey, request, onSent }) => {
        if (isLarge(request)) await unread.promise
        onSent?.()
        ended.push(upstreamKey)
        return succeeded()
      },
      5,
    )
    const holder = await insertTask(world.pool)
    const hung = await Promise.all(
      Array.from({ length: 5 }, () => insertTask(world.pool, { prompt: large })),
    )
    const small = await insertTask(world.pool)
    const first = hung.slice(0, 4).map(({ taskId }) => produce({ taskId }))
    await until('four calls', async () =>
      (await countOpen(channel.name)) === 4 ? true : undefined,
    )
    await openAttempt(attempts, holder.taskId, { channel })
    const stages: string[] = []
    const onStage = ({ stage }: Stage) => stages.push(stage)
    const inLine = (count: number) =>
      until('tasks in line', () => stages.length >= count || undefined)
    const fifth = produce({ taskId: hung[4]?.taskId ?? '', onStage })
    await inLine(1)
    const last = produce({ taskId: small.taskId, onStage })
    await inLine(2)
    const evidence = { reason: 'no_image' } as const
    await attempts.closeAttempt({ taskId: holder.taskId, n: 1, class: 'rejected', evidence })
    expect(await last).toEqual({ kind: 'succeeded' })
    expect(ended).toEqual([`${small.taskId}-1`])
    unread.resolve()
    const ends = await Promise.all([...first, fifth])
    expect(ends.map(({ kind }) => kind)).toEqual(Array(5).fill('succeeded'))
  })
})
