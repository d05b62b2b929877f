import { setTimeout as sleep } from 'node:timers/promises'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import type { AttemptStore } from '../../src/store/attempts/attemptStore.ts'
import { createDirectRuns } from '../../src/tasks/produce/directRuns.ts'
import { createLineStep } from '../../src/tasks/reconcile/lineStep.ts'
import { createStartStep } from '../../src/tasks/reconcile/startStep.ts'
import { useAttemptWorld } from '../support/database/attemptWorld.ts'
import { insertTask } from '../support/database/insertTask.ts'
import { runStep, setTask, taskRow } from '../support/database/reconcileWorld.ts'
import { createTestAttempts, testChannel } from '../support/database/testAttempts.ts'
import { createTestProduceImage } from '../support/database/testProduceImage.ts'
import { quiet } from '../support/quiet.ts'
import { until } from '../support/timing.ts'
import { succeeded } from '../support/upstream/countedUpstream.ts'

const world = useAttemptWorld()
const due = { next_check_at: 'now()' }
beforeEach(() => world.pool.query('delete from task'))

/** A channel with some places, an upstream whose calls end one by one when the test lets them, and workers. */
async function openLine(name: string, concurrencyMax = 1) {
  const channel = testChannel({ name, concurrencyMax })
  const attempts = await createTestAttempts(world.pool, [channel])
  const begun: string[] = []
  const held: (() => void)[] = []
  const callUpstream = async ({ upstreamKey }: { readonly upstreamKey: string }) => {
    begun.push(upstreamKey.slice(0, -2))
    await new Promise<void>((resolve) => held.push(resolve))
    return succeeded()
  }

  function startWorker(reads: AttemptStore['readTaskFacts'] = attempts.readTaskFacts) {
    const stop = new AbortController()
    const results: string[] = []
    const direct = createDirectRuns({
      ...quiet,
      pool: world.pool,
      metrics: { ...quiet.metrics, directRun: (result) => results.push(result) },
      produceImage: createTestProduceImage({
        attempts: { ...attempts, readTaskFacts: reads },
        channels: [channel],
        callUpstream,
      }),
      slots: { A: 1, B: concurrencyMax },
      stopping: stop.signal,
    })
    onTestFinished(() => stop.abort())
    return {
      direct,
      results,
      stop: async () => {
        stop.abort()
        await direct.idle()
      },
      lineUp: () =>
        runStep(createLineStep({ pool: world.pool, beats: { mayCall: () => true }, direct })),
      startAway: () => {
        const startTask = async () => false
        return runStep(createStartStep({ pool: world.pool, direct, startTask }))
      },
    }
  }

  return {
    attempts,
    begun,
    startWorker,
    seen: (count: number) =>
      until('calls', () => (begun.length >= count ? true : undefined), 60_000),
    endCall: () => held.shift()?.(),
    /** Lets every call end, until nothing is left. */
    drain: () => {
      const timer = setInterval(() => held.shift()?.(), 10)
      onTestFinished(() => clearInterval(timer))
    },
  }
}

const insertSync = async (count: number, accountId = 'acct_sync') => {
  const ids: string[] = []
  while (ids.length < count) {
    const given = { route: 'images.generations', accountId, credits: 0 } as const
    const { taskId } = await insertTask(world.pool, given)
    await setTask(world.pool, taskId, { next_check_at: `now() + interval '1 minute'` })
    ids.push(taskId)
  }
  return ids
}
const sync = (taskId: string) =>
  ({ taskId, family: 'B', model: 'familyb-image-2-vip', sync: true }) as const
const duesOf = async (ids: readonly string[]) => {
  const rows = await Promise.all(ids.map((taskId) => taskRow(world.pool, taskId)))
  return rows.filter((row) => row !== undefined && row.nextCheck <= 0.1).length
}

describe('a synchronous task that finds all places taken', () => {
  it('gets the first place that is free, although nothing looks after it', async () => {
    const { begun, endCall, seen, startWorker } = await openLine('first')
    const { direct } = startWorker()
    const [one = '', two = ''] = await insertSync(2)
    direct.take(sync(one))
    await seen(1)
    direct.take(sync(two))
    await sleep(500)
    expect(begun).toEqual([one])
    endCall()
    await seen(2)
    expect(begun).toEqual([one, two])
    endCall()
    await direct.idle()
  })

  it('is due at once when its worker stops, and stands in line in the worker that claims it', async () => {
    const { begun, endCall, seen, drain, startWorker } = await openLine('stops')
    const old = startWorker()
    const ids = await insertSync(20)
    for (const taskId of ids) old.direct.take(sync(taskId))
    await seen(1)
    const waiting = ids.filter((taskId) => taskId !== begun[0])
    expect(await duesOf(waiting)).toBe(0)
    const stopped = old.stop()
    await until('due', async () => ((await duesOf(waiting)) === waiting.length ? true : undefined))
    const next = startWorker()
    await next.lineUp()
    expect(next.direct.room()).toBe(10_000 - waiting.length)
    endCall()
    await stopped
    drain()
    await next.direct.idle()
    expect(begun.toSorted()).toEqual(ids.toSorted())
    expect(next.results).toEqual(waiting.map(() => 'succeeded'))
  })

  it('is claimed by a worker that has it in its line already, and stands there once', async () => {
    const { begun, seen, drain, startWorker } = await openLine('twice')
    const { direct, lineUp } = startWorker()
    const ids = await insertSync(3)
    for (const taskId of ids) direct.take(sync(taskId))
    await seen(1)
    for (const taskId of ids) await setTask(world.pool, taskId, due)
    await lineUp()
    expect(direct.room()).toBe(10_000 - 3)
    drain()
    await direct.idle()
    expect(begun.toSorted()).toEqual(ids.toSorted())
  })

  it('waits a cooldown of three seconds in line, with few questions', async () => {
    const { attempts, seen, drain, startWorker } = await openLine('cooling', 20)
    const questions: string[] = []
    const { direct, results } = startWorker((taskId) => {
      questions.push(taskId)
      return attempts.readTaskFacts(taskId)
    })
    const ids = await insertSync(20)
    await world.pool.query(
      `insert into cooldown (channel, model, fault, until_at, max, length_ms)
       values ('cooling', '*', false, clock_timestamp() + interval '3 seconds', 20, 3000)`,
    )
    for (const taskId of ids) direct.take(sync(taskId))
    await seen(20)
    expect(results).toEqual([])
    // Each task reads its facts when it comes and when it is called, and the first one before the cooldown ends.
    expect(questions.length).toBeLessThan(46)
    drain()
    await direct.idle()
    expect(results).toEqual(ids.map(() => 'succeeded'))
  })

  it('stays in line while PostgreSQL is away for a moment', async () => {
    const { attempts, begun, endCall, seen, drain, startWorker } = await openLine('restarts')
    const read = new Set<string>()
    let failures = 0
    let isAway = false
    const { direct, results } = startWorker(async (taskId) => {
      if (!isAway) {
        const facts = await attempts.readTaskFacts(taskId)
        read.add(taskId)
        return facts
      }
      failures += 1
      throw new Error('PostgreSQL restarts')
    })
    const ids = await insertSync(5)
    for (const taskId of ids) direct.take(sync(taskId))
    await seen(1)
    await until('four tasks in line', () => (read.size === 4 ? true : undefined))
    isAway = true
    endCall()
    await until('failures', () => (failures >= 5 ? true : undefined))
    isAway = false
    await seen(2)
    expect(results).toEqual(['succeeded'])
    drain()
    await direct.idle()
    expect(begun.toSorted()).toEqual(ids.toSorted())
    expect(results).toEqual(ids.map(() => 'succeeded'))
  })

  it('ends where it stands when its deadline passes', async () => {
    const { endCall, seen, startWorker } = await openLine('late')
    const { direct, results } = startWorker()
    const [one = ''] = await insertSync(1)
    direct.take(sync(one))
    await seen(1)
    const given = { route: 'images.generations', deadlineSeconds: 1 } as const
    const { taskId } = await insertTask(world.pool, given)
    direct.take(sync(taskId))
    await until('its end', () => (results.length === 1 ? true : undefined))
    expect(results).toEqual(['failed'])
    expect(await taskRow(world.pool, taskId)).toMatchObject({ failureCode: 'generation_timeout' })
    endCall()
    await direct.idle()
  })
})

describe('while Temporal is away and the line is full of synchronous tasks', () => {
  it.each(['acct_sync', 'acct_other'])(
    'an asynchronous task of %s takes its turn',
    async (accountId) => {
      const { begun, endCall, seen, drain, startWorker } = await openLine(`away-${accountId}`)
      const { direct, lineUp, startAway } = startWorker()
      for (const taskId of await insertSync(30)) await setTask(world.pool, taskId, due)
      const { taskId } = await insertTask(world.pool, { accountId, credits: 0 })
      await setTask(world.pool, taskId, due)
      await lineUp()
      await seen(1)
      await startAway()
      expect(direct.room()).toBe(10_000 - 31)
      while (!begun.includes(taskId)) {
        const { length } = begun
        endCall()
        await seen(length + 1)
      }
      // It reaches the line within a moment.
      expect(begun.length).toBeLessThan(15)
      drain()
      await direct.idle()
    },
  )
})
