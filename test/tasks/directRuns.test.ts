import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openMessages, readAnnounced } from '../../src/store/connection/messages.ts'
import type { BlobStore } from '../../src/domain/ports/blobStore.ts'
import { createDirectRuns } from '../../src/tasks/produce/directRuns.ts'
import type { Stage } from '../../src/tasks/produce/produceInput.ts'
import type { ProduceResult } from '../../src/tasks/produce/produceImage.ts'
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
    metrics: { ...quiet.metrics, directRun: (result) => results.push(result) },
    produceImage: ({ taskId, onStage }) => produce(taskId, () => onStage?.(calling)),
    slots: { A: 1, B: 2 },
    stopping: stopping.signal,
  })
  return { direct, results, stopping }
}

const task = (taskId: string, sync = true) =>
  ({ taskId, family: 'B', model: 'familyb-image-2-vip', sync }) as const

describe('a task that a worker carries out without Temporal', () => {
  it.each([
    [true, 'cooldown', 0],
    [false, 'cooldown', 4],
    [false, 'stopping', 4],
    [false, 'call_under_way', 60],
  ] as const)(
    'is due at once when it must wait after a call, else after its wait, unless another worker calls for it: %j, %s',
    async (calls, reason, expected) => {
      const { direct, results } = running(async (_taskId, onCall) => {
        if (calls) onCall()
        return { kind: 'wait', delayMs: 4_000, reason }
      })
      const { taskId } = await insertTask(world.pool)
      await setTask(world.pool, taskId, { next_check_at: `now() + interval '60 seconds'` })
      direct.take(task(taskId))
      await direct.idle()
      expect(results).toEqual(['wait'])
      const { nextCheck = 0 } = (await taskRow(world.pool, taskId)) ?? {}
      expect(Math.abs(nextCheck - expected)).toBeLessThan(2)
    },
  )

  it('occupies a slot unless it is synchronous, so that those of both kinds leave each other room', async () => {
    const done = Promise.withResolvers<ProduceResult>()
    const { direct } = running(() => done.promise)
    for (let n = 0; n < 50; n += 1) expect(direct.take(task(`sync${n}`))).toBe(true)
    expect([direct.free('B'), direct.free('A')]).toEqual([2, 1])
    const took = ['b1', 'b2', 'b3'].map((taskId) => direct.take(task(taskId, false)))
    expect(took).toEqual([true, true, false])
    expect(direct.take(task('sync50'))).toBe(true)
    done.resolve({ kind: 'succeeded' })
    await direct.idle()
    expect([direct.free('B'), direct.free('A')]).toEqual([2, 1])
  })

  it('is not carried out twice at once by one worker', async () => {
    const done = Promise.withResolvers<ProduceResult>()
    const { direct, results } = running(() => done.promise)
    expect([direct.take(task('b')), direct.take(task('b'))]).toEqual([true, true])
    done.resolve({ kind: 'succeeded' })
    await direct.idle()
    expect(results).toEqual(['succeeded'])
  })

  it('is not taken by a worker that carries out 10,000', async () => {
    const done = Promise.withResolvers<ProduceResult>()
    const { direct } = running(() => done.promise)
    for (let n = 0; n < 10_000; n += 1) direct.take(task(`${n}`))
    expect([direct.room(), direct.take(task('more'))]).toEqual([0, false])
    done.resolve({ kind: 'succeeded' })
    await direct.idle()
    expect(direct.room()).toBe(10_000)
  })

  it('is not taken any more by a process that stops', async () => {
    const { direct, stopping, results } = running(async () => ({ kind: 'succeeded' }))
    stopping.abort()
    expect(direct.take(task('b'))).toBe(false)
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
        hears: 'task',
        onError: () => {},
      })
      messages.hear((text) => {
        const task = readAnnounced(text)
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
    const announce = (taskId: string) => workers[0]?.messages.announceTask(task(taskId))
    return { workers, calls, failed, announce }
  }

  const statusOf = async (taskId: string) => {
    const { rows } = await world.pool.query<{ status: string }>(
      'select status from task where task_id = $1',
      [taskId],
    )
    return rows[0]?.status
  }

  it('make one call for it, when a place of its full channel is free', async () => {
    const blocking = await insertTask(world.pool)
    const { n } = await openAttempt(world.attempts, blocking.taskId)
    const { workers, calls, announce } = await startWorkers()
    const { taskId } = await insertTask(world.pool, { route: 'images.generations' })
    announce(taskId)
    await sleep(700)
    expect(calls).toEqual([])
    const evidence = { reason: 'no_image' } as const
    await world.attempts.closeAttempt({ taskId: blocking.taskId, n, class: 'rejected', evidence })
    await until('the end', async () =>
      (await statusOf(taskId)) === 'succeeded' ? true : undefined,
    )
    await Promise.all(workers.map(({ direct }) => direct.idle()))
    expect(calls).toEqual([`${taskId}-1`])
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
