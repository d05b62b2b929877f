import { describe, expect, it } from 'vitest'
import type { StartResult, TaskStart } from '../../src/domain/ports/taskRuns.ts'
import type { StartQueueDeps, StartQueueEvent } from '../../src/temporal/startQueue.ts'
import { createStartQueue } from '../../src/temporal/startQueue.ts'
import { testStart } from '../support/temporal/temporalWorld.ts'
import { until } from '../support/timing.ts'

const started: StartResult = { kind: 'started' }
const failed = { kind: 'failed', reason: 'UNAVAILABLE' } as const

function queueOver(startTask: StartQueueDeps['startTask'], given: Partial<StartQueueDeps> = {}) {
  const events: StartQueueEvent[] = []
  const marked: string[] = []
  let nowMs = 0
  const queue = createStartQueue({
    startTask,
    markStarted: async (taskIds) => void marked.push(...taskIds),
    onEvent: (event) => void events.push(event),
    nowMs: () => nowMs,
    limits: { parallel: 2, waiting: 3, failures: 2, pauseMs: 1_000 },
    ...given,
  })
  const pass = (ms: number) => {
    nowMs += ms
  }
  return { queue, events, marked, pass }
}

function tasks(count: number): TaskStart[] {
  return Array.from({ length: count }, testStart)
}

describe('the start queue', () => {
  it('starts tasks and marks them in one batch', async () => {
    const batches: (readonly string[])[] = []
    const { queue } = queueOver(async () => started, {
      markStarted: async (taskIds) => void batches.push(taskIds),
    })
    const given = tasks(3)
    for (const start of given) queue.enqueue(start)
    await until('the marks', () => (batches.length > 0 ? true : undefined))
    expect(batches).toEqual([given.map(({ taskId }) => taskId)])
  })

  it('limits starts under way and waiting, and leaves the rest to the reconciler', () => {
    let underWay = 0
    const { queue, events } = queueOver(() => {
      underWay += 1
      return new Promise(() => {})
    })
    for (const start of tasks(7)) queue.enqueue(start)
    expect(underWay).toBe(2)
    expect(events.map((event) => event.kind === 'left' && event.reason)).toEqual(['full', 'full'])
  })

  it('stops starting after failures in a row, then tries one start as a probe', async () => {
    let result: StartResult = failed
    let tries = 0
    const { queue, events, marked, pass } = queueOver(async () => {
      tries += 1
      return result
    })
    for (const start of tasks(5)) queue.enqueue(start)
    await until('the open breaker', () =>
      events.some((event) => event.kind === 'left') ? true : undefined,
    )
    expect(tries).toBe(2)
    const [left = testStart(), probe = testStart()] = tasks(2)
    queue.enqueue(left)
    expect(events.at(-1)).toEqual({ kind: 'left', taskId: left.taskId, reason: 'open' })

    pass(1_000)
    result = started
    queue.enqueue(probe)
    await queue.stop()
    expect(tries).toBe(3)
    expect(marked).toEqual([probe.taskId])
  })

  it('finishes starts under way when it stops, and leaves the rest to the reconciler', async () => {
    const answers: (() => void)[] = []
    const { queue, events, marked } = queueOver(
      () => new Promise((resolve) => answers.push(() => resolve(started))),
    )
    const given = tasks(4)
    for (const start of given) queue.enqueue(start)
    const stopped = queue.stop()
    for (const answer of answers) answer()
    await stopped
    expect(marked).toEqual(given.slice(0, 2).map(({ taskId }) => taskId))
    expect(events.map((event) => event.kind === 'left' && event.taskId)).toEqual(
      given.slice(2).map(({ taskId }) => taskId),
    )
    queue.enqueue(testStart())
    expect(events.at(-1)).toMatchObject({ reason: 'stopped' })
  })
})
