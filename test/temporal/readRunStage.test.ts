import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { ProduceResult } from '../../src/tasks/produceImage.ts'
import { createReadRunStage } from '../../src/temporal/readRunStage.ts'
import { useScriptedWorld, createScripts, handleOf } from '../support/temporal/temporalWorld.ts'
import { until } from '../support/timing.ts'

const scripts = createScripts()
const world = useScriptedWorld(scripts)

describe('the stage of a run', () => {
  it('reports until when a task waits', async () => {
    const start = scripts.add({
      produce: [{ kind: 'wait', delayMs: 600_000, reason: 'cooldown' }],
    })
    await world.startTask(start)
    const ask = createReadRunStage(world.temporal)
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
    const ask = createReadRunStage(world.temporal)
    expect(await until('a stage', () => ask(start.taskId))).toEqual({ stage: 'calling' })
    storing.resolve()
    await until('storing', async () =>
      (await ask(start.taskId))?.stage === 'storing' ? true : undefined,
    )
    answer.resolve({ kind: 'succeeded' })
    await handleOf(world, start.taskId).result()
    await until('the end', async () => ((await ask(start.taskId)) === undefined ? true : undefined))
  })
})

it('one question is asked about a task in a second, however many callers poll it', async () => {
  let calls = 0
  const withDeadline = () => {
    calls += 1
    return Promise.reject(new Error('enough'))
  }
  const ask = createReadRunStage({ ...world.temporal, withDeadline })
  await Promise.all([ask('task_1'), ask('task_1'), ask('task_1')])
  await ask('task_1')
  expect(calls).toBe(1)
  await sleep(1_100)
  await ask('task_1')
  expect(calls).toBe(2)
})
