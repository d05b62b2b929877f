import { describe, expect, it } from 'vitest'
import type { ProduceResult } from '../../src/tasks/produceImage.ts'
import { connectTemporal } from '../../src/temporal/connect.ts'
import { createReadRunStage } from '../../src/temporal/readRunStage.ts'
import {
  useScriptedWorld,
  createScripts,
  handleOf,
  testStart,
} from '../support/temporal/temporalWorld.ts'
import { until } from '../support/timing.ts'

const scripts = createScripts()
const world = useScriptedWorld(scripts)

/** A clock that jumps a minute at each call, so that no answer comes from the cache. */
function uncached() {
  let nowMs = 0
  return createReadRunStage({
    temporal: world.temporal,
    nowMs: () => {
      nowMs += 60_000
      return nowMs
    },
  })
}

describe('the stage of a run', () => {
  it('reports until when a task waits', async () => {
    const start = scripts.add({
      produce: [{ kind: 'wait', delayMs: 600_000, reason: 'cooldown' }],
    })
    await world.startTask(start)
    const ask = uncached()
    const live = await until('the wait', async () => {
      const seen = await ask(start.taskId)
      return seen?.stage === 'waiting' ? seen : undefined
    })
    const leftMs = (live.stage === 'waiting' ? (live.untilMs ?? 0) : 0) - Date.now()
    expect(leftMs).toBeGreaterThan(560_000)
    expect(leftMs).toBeLessThanOrEqual(601_000)
  })

  it('distinguishes a call from storing its answer', async () => {
    const storing = Promise.withResolvers<void>()
    const answer = Promise.withResolvers<ProduceResult>()
    const start = scripts.add({
      produce: [
        async ({ onStage }) => {
          onStage?.({ stage: 'calling', channel: 'b-main' })
          await storing.promise
          onStage?.({ stage: 'storing', channel: 'b-main' })
          return answer.promise
        },
      ],
    })
    await world.startTask(start)
    const ask = uncached()
    expect(await until('a stage', () => ask(start.taskId))).toEqual({ stage: 'calling' })
    storing.resolve()
    await until('storing', async () =>
      (await ask(start.taskId))?.stage === 'storing' ? true : undefined,
    )
    answer.resolve({ kind: 'succeeded' })
    await handleOf(world, start.taskId).result()
    expect(await ask(start.taskId)).toBeUndefined()
  })

  it('returns nothing for a task without a workflow', async () => {
    expect(await uncached()(testStart().taskId)).toBeUndefined()
  })

  it('returns nothing, within its deadline, when Temporal is unreachable', async () => {
    const temporal = connectTemporal({ address: '127.0.0.1:9', namespace: 'default' })
    const ask = createReadRunStage({ temporal, nowMs: () => performance.now() })
    const askedAtMs = performance.now()
    expect(await ask('task_1')).toBeUndefined()
    expect(performance.now() - askedAtMs).toBeLessThan(2_000)
    await temporal.close()
  })
})

describe('the limits of questions about runs', () => {
  function counting() {
    let calls = 0
    let gate = Promise.withResolvers<never>()
    let nowMs = 0
    const ask = createReadRunStage({
      temporal: {
        ...world.temporal,
        withDeadline: () => {
          calls += 1
          return gate.promise
        },
      },
      nowMs: () => nowMs,
    })
    return {
      ask,
      calls: () => calls,
      release: () => gate.reject(new Error('enough')),
      hang: () => {
        gate = Promise.withResolvers()
      },
      pass: (ms: number) => {
        nowMs += ms
      },
    }
  }

  it('allow one request per task and second, however many callers poll it', async () => {
    const { ask, calls, release, pass } = counting()
    const polls = [ask('task_1'), ask('task_1'), ask('task_1')]
    expect(calls()).toBe(1)
    release()
    await Promise.all(polls)
    pass(999)
    await ask('task_1')
    expect(calls()).toBe(1)
    pass(1)
    await ask('task_1')
    expect(calls()).toBe(2)
  })
})
