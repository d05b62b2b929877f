import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, describe, expect, it } from 'vitest'
import type { ProduceResult } from '../../src/tasks/produceImage.ts'
import { connectTemporal } from '../../src/temporal/connect.ts'
import { createDescribeTask } from '../../src/temporal/describeTask.ts'
import { createReportRun } from '../../src/temporal/runs.ts'
import { stackStartMsMax } from '../support/stack/embeddedStack.ts'
import {
  openScriptedWorld,
  createScripts,
  handleOf,
  testStart,
} from '../support/temporal/temporalWorld.ts'
import type { TemporalWorld } from '../support/temporal/temporalWorld.ts'
import { until } from '../support/timing.ts'

let world: TemporalWorld
const scripts = createScripts()

beforeAll(async () => {
  world = await openScriptedWorld(scripts)
  return () => world.close()
}, stackStartMsMax)

/** Without its cache, so that each question sees the present. */
function fresh() {
  let nowMs = 0
  return createDescribeTask({
    temporal: world.temporal,
    nowMs: () => {
      nowMs += 60_000
      return nowMs
    },
  })
}

describe('describeTask', () => {
  it('tells until when a task waits', async () => {
    const start = scripts.add({
      produce: [{ kind: 'wait', delayMs: 600_000, reason: 'cooldown' }],
    })
    await world.startTask(start)
    const ask = fresh()
    const live = await until('the wait', async () => {
      const seen = await ask(start.taskId)
      return seen?.stage === 'waiting' ? seen : undefined
    })
    const leftMs = (live.stage === 'waiting' ? (live.untilMs ?? 0) : 0) - Date.now()
    expect(leftMs).toBeGreaterThan(560_000)
    expect(leftMs).toBeLessThanOrEqual(601_000)
  })

  it('tells a call from storing its answer', async () => {
    const storing = Promise.withResolvers<void>()
    const answer = Promise.withResolvers<ProduceResult>()
    const start = scripts.add({
      produce: [
        async ({ onStage }) => {
          onStage?.({ stage: 'calling', attempt: 1, channel: 'b-main' })
          await storing.promise
          onStage?.({ stage: 'storing', attempt: 1, channel: 'b-main' })
          return answer.promise
        },
      ],
    })
    await world.startTask(start)
    const ask = fresh()
    expect(await until('a stage', () => ask(start.taskId))).toEqual({ stage: 'calling' })
    storing.resolve()
    await until('storing', async () =>
      (await ask(start.taskId))?.stage === 'storing' ? true : undefined,
    )
    answer.resolve({ kind: 'succeeded' })
    await handleOf(world, start.taskId).result()
    expect(await ask(start.taskId)).toBeUndefined()
  })

  it('knows nothing of a task without a workflow', async () => {
    expect(await fresh()(testStart().taskId)).toBeUndefined()
  })

  it('answers nothing within its time when Temporal is away', async () => {
    const temporal = connectTemporal({ address: '127.0.0.1:9', namespace: 'default' })
    const ask = createDescribeTask({ temporal, nowMs: () => performance.now() })
    const askedAtMs = performance.now()
    expect(await ask('task_1')).toBeUndefined()
    expect(performance.now() - askedAtMs).toBeLessThan(450)
    await temporal.close()
  })
})

describe('the bounds of describeTask', () => {
  function counting() {
    let calls = 0
    const gate = Promise.withResolvers<never>()
    let nowMs = 0
    const ask = createDescribeTask({
      temporal: {
        ...world.temporal,
        within: () => {
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
      pass: (ms: number) => {
        nowMs += ms
      },
    }
  }

  it('ask once for a task that many poll, and again a second later', async () => {
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

  it('ask for 32 tasks at once and leave the others to their rows', async () => {
    const { ask, calls, release } = counting()
    const polls = Array.from({ length: 40 }, (_, i) => ask(`task_${i}`))
    expect(calls()).toBe(32)
    expect(await polls[39]).toBeUndefined()
    release()
    await Promise.all(polls)
    await ask('task_39')
    expect(calls()).toBe(33)
  })
})

describe('reportRun', () => {
  it('tells a running, a terminated and a missing run apart', async () => {
    const reportRun = createReportRun(world.temporal)
    const start = scripts.add({ produce: [() => sleep(5_000, { kind: 'over' as const })] })
    await world.startTask(start)
    expect(await reportRun(start.taskId)).toBe('running')
    await handleOf(world, start.taskId).terminate('an operator')
    expect(await reportRun(start.taskId)).toBe('terminated')
    expect(await reportRun(testStart().taskId)).toBe('missing')
  })

  it('concludes nothing while Temporal is away', async () => {
    const temporal = connectTemporal({ address: '127.0.0.1:9', namespace: 'default' })
    expect(await createReportRun(temporal)('task_1')).toBe('unreachable')
    await temporal.close()
  })
})
