import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openMessages, readSyncTask } from '../../src/store/connection/messages.ts'
import type { BlobStore } from '../../src/domain/ports/blobStore.ts'
import { createDirectRuns } from '../../src/tasks/directRuns.ts'
import type { Stage } from '../../src/tasks/takeStep.ts'
import type { ProduceResult } from '../../src/tasks/produceImage.ts'
import { createTestProduceImage } from '../support/database/testProduceImage.ts'
import { quiet } from '../support/quiet.ts'
import { createMemoryBlobs } from '../support/blobs/memoryBlobs.ts'
import { useAttemptWorld } from '../support/database/attemptWorld.ts'
import { insertTask } from '../support/database/insertTask.ts'
import { setTask, taskRow } from '../support/database/reconcileWorld.ts'
import { openAttempt, testChannel } from '../support/database/testAttempts.ts'
import { succeeded } from '../support/upstream/countedUpstream.ts'
import { until } from '../support/timing.ts'

const calling: Stage = { stage: 'calling', channel: 'b-main' }

type Produce = (taskId: string, onCall: () => void) => Promise<ProduceResult>

const world = useAttemptWorld([testChannel({ concurrencyMax: 1 })])

function running(produce: Produce) {
  const results: string[] = []
  const stopping = new AbortController()
  const direct = createDirectRuns({
    ...quiet,
    pool: world.pool,
    metrics: { ...quiet.metrics, offer: (result) => results.push(result) },
    produceImage: ({ taskId, onStage }) => produce(taskId, () => onStage?.(calling)),
    slots: { A: 1, B: 2 },
    stopping: stopping.signal,
  })
  return { direct, results, stopping }
}

describe('a task that a worker carries out without Temporal', () => {
  it.each([
    ['take', true, 0],
    ['take', false, 60],
    ['run', true, 0],
    ['run', false, 4],
  ] as const)(
    'is due at once when it must wait after a call, and after its wait when the reconciler took it: %s, %j',
    async (way, calls, expected) => {
      const { direct, results } = running(async (_taskId, onCall) => {
        if (calls) onCall()
        return { kind: 'wait', delayMs: 4_000, reason: 'cooldown' }
      })
      const { taskId } = await insertTask(world.pool)
      await setTask(world.pool, taskId, { next_check_at: `now() + interval '60 seconds'` })
      direct[way]({ taskId, family: 'B' })
      await direct.idle()
      expect(results).toEqual(['wait'])
      const { nextCheck = 0 } = (await taskRow(world.pool, taskId)) ?? {}
      expect(Math.abs(nextCheck - expected)).toBeLessThan(2)
    },
  )

  it('occupies a slot from its call on when every worker has heard of it, and from its claim on otherwise', async () => {
    const done = Promise.withResolvers<ProduceResult>()
    const calls: (() => void)[] = []
    const { direct, results } = running((_taskId, onCall) => {
      calls.push(onCall)
      return done.promise
    })
    direct.take({ taskId: 'b1', family: 'B' })
    expect([direct.free('B'), direct.free('A')]).toEqual([2, 1])
    direct.run({ taskId: 'b2', family: 'B' })
    expect(direct.free('B')).toBe(1)
    calls[1]?.()
    expect(direct.free('B')).toBe(1)
    calls[0]?.()
    expect(direct.free('B')).toBe(0)
    direct.take({ taskId: 'b3', family: 'B' })
    expect(results).toEqual(['no_slot'])
    expect(calls).toHaveLength(2)
    done.resolve({ kind: 'succeeded' })
    await direct.idle()
    expect([direct.free('B'), direct.free('A')]).toEqual([2, 1])
  })

  it('is not carried out twice at once by one worker', async () => {
    const done = Promise.withResolvers<ProduceResult>()
    const { direct, results } = running(() => done.promise)
    direct.take({ taskId: 'task', family: 'B' })
    direct.run({ taskId: 'task', family: 'B' })
    expect(direct.free('B')).toBe(2)
    expect(direct.hasJustTaken('task')).toBe(true)
    done.resolve({ kind: 'succeeded' })
    await direct.idle()
    expect(direct.hasJustTaken('task')).toBe(false)
    expect(results).toEqual(['succeeded'])
  })

  it('is not taken any more by a process that stops', async () => {
    const { direct, stopping, results } = running(async () => ({ kind: 'succeeded' }))
    stopping.abort()
    direct.take({ taskId: 'task', family: 'B' })
    await direct.idle()
    expect(results).toEqual([])
  })
})

describe('20 workers that hear of a synchronous task', () => {
  const workersMax = 20

  /** Workers on one database and one blob store, each with one slot and its own connection for messages. */
  async function startWorkers(blobs: BlobStore = createMemoryBlobs()) {
    const calls: string[] = []
    const failed: unknown[] = []
    const log = { ...quiet.log, error: (...given: unknown[]) => void failed.push(given) }
    const starting = Array.from({ length: workersMax }, async (_, at) => {
      const processId = `worker-${at}`
      const direct = createDirectRuns({
        ...quiet,
        log,
        pool: world.pool,
        produceImage: createTestProduceImage({
          attempts: world.attempts,
          processId,
          blobs,
          callUpstream: async ({ upstreamKey }) => {
            calls.push(upstreamKey)
            await sleep(100)
            return succeeded()
          },
        }),
        slots: { A: 1, B: 1 },
        stopping: new AbortController().signal,
      })
      const messages = await openMessages({
        databaseUrl: world.databaseUrl,
        hears: 'sync_task',
        onError: () => {},
      })
      messages.hear((text) => {
        const task = readSyncTask(text)
        if (task !== undefined) direct.take(task)
      })
      onTestFinished(async () => {
        await messages.close()
        await direct.idle()
      })
      return { processId, direct, messages }
    })
    await world.pool.query(
      `insert into worker_process (process_id, seen_at)
       select 'worker-' || n, now() + interval '1 hour' from generate_series(0, $1) as n
       on conflict do nothing`,
      [workersMax - 1],
    )
    const workers = await Promise.all(starting)
    const announce = (taskId: string) =>
      workers[0]?.messages.announceSyncTask({ taskId, family: 'B' })
    return { workers, calls, failed, announce }
  }

  const statusOf = async (taskId: string) => {
    const { rows } = await world.pool.query<{ status: string }>(
      'select status from task where task_id = $1',
      [taskId],
    )
    return rows[0]?.status
  }
  const usedSlots = (workers: Awaited<ReturnType<typeof startWorkers>>['workers']) =>
    workers.reduce((sum, { direct }) => sum + 1 - direct.free('B'), 0)

  it('occupy no slot while it waits for a place on a full channel, and make one call when a place is free', async () => {
    const blocking = await insertTask(world.pool)
    const { n } = await openAttempt(world.attempts, blocking.taskId)
    const { workers, calls, announce } = await startWorkers()
    const { taskId } = await insertTask(world.pool, { route: 'images.generations' })
    announce(taskId)
    const slots = new Set<number>()
    const watched = setInterval(() => slots.add(usedSlots(workers)), 20)
    await sleep(700)
    expect([...slots]).toEqual([0])
    const evidence = { reason: 'no_image' } as const
    await world.attempts.closeAttempt({ taskId: blocking.taskId, n, class: 'rejected', evidence })
    await until('the end', async () =>
      (await statusOf(taskId)) === 'succeeded' ? true : undefined,
    )
    await Promise.all(workers.map(({ direct }) => direct.idle()))
    clearInterval(watched)
    expect(calls).toEqual([`${taskId}-1`])
    expect(Math.max(...slots)).toBe(1)
  }, 30_000)

  it('do not look for its answer while another one of them makes its call', async () => {
    const reads: string[] = []
    const read = (key: string) => {
      reads.push(key)
      return Promise.reject(new Error('the blob store is away'))
    }
    const { workers, calls, failed, announce } = await startWorkers({
      ...createMemoryBlobs(),
      read,
    })
    const { taskId } = await insertTask(world.pool, { route: 'images.generations' })
    announce(taskId)
    await until('the end', async () =>
      (await statusOf(taskId)) === 'succeeded' ? true : undefined,
    )
    await Promise.all(workers.map(({ direct }) => direct.idle()))
    expect(calls).toEqual([`${taskId}-1`])
    expect([reads, failed]).toEqual([[], []])
  }, 30_000)
})
