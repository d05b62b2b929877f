import { once } from 'node:events'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { ProduceResult } from '../../src/tasks/produce/produceImage.ts'
import { connectTemporal } from '../../src/temporal/connect.ts'
import { createReadRunStage } from '../../src/temporal/readRunStage.ts'
import { reportRun } from '../../src/temporal/runs.ts'
import { createStartTask } from '../../src/temporal/startTask.ts'
import {
  createScripts,
  handleOf,
  testStart,
  useScriptedWorld,
} from '../support/temporal/temporalWorld.ts'
import { until } from '../support/timing.ts'

const scripts = createScripts()
const world = useScriptedWorld(scripts)

describe('startTask', () => {
  it('starts the workflow of a task once, however often it is called, also after its end', async () => {
    const start = testStart()
    expect(await world.startTask(start)).toBe(true)
    const { runId } = await handleOf(world, start.taskId).describe()
    expect(await world.startTask(start)).toBe(true)
    await handleOf(world, start.taskId).terminate('an operator')
    expect(await world.startTask(start)).toBe(true)
    expect(await handleOf(world, start.taskId).describe()).toMatchObject({
      runId,
      status: { name: 'TERMINATED' },
    })
  })

  it('passes on task, key digest and priority, and nothing else of the request', async () => {
    const start = { ...testStart(), keyDigest: 'ab'.repeat(32), sync: true }
    await world.startTask(start)
    const handle = handleOf(world, start.taskId)
    const described = await handle.describe()
    // The priority of the server, the same for all tasks.
    expect(described.priority).toMatchObject({ priorityKey: 0, fairnessKey: 'acct_test' })
    expect(described.searchAttributes).toMatchObject({ DarkroomKeyDigest: [start.keyDigest] })
    expect(await described.staticSummary()).toBe('familyb-image-2-vip · generate · 1024x1024')
    const { events } = await handle.fetchHistory()
    const input = events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads?.[0]?.data
    expect(JSON.parse(Buffer.from(input ?? []).toString())).toEqual({
      taskId: start.taskId,
      family: 'B',
      model: 'familyb-image-2-vip',
      produceTimeoutMs: 600_000,
    })
  })

  it('fails within its deadline when the server does not answer', async () => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const address = silent.address()
    const port = typeof address === 'object' ? address?.port : undefined
    const temporal = connectTemporal({ address: `127.0.0.1:${port}`, namespace: 'default' })
    const startTask = createStartTask(temporal, { storeId: 'test', produceTimeoutMs: 1_000 })
    const startedAtMs = performance.now()
    expect(await startTask(testStart())).toBe(false)
    expect(performance.now() - startedAtMs).toBeLessThan(12_000)
    await temporal.close()
    silent.close()
  })
})

describe('reportRun', () => {
  it('distinguishes running, terminated, missing and unreachable runs', async () => {
    const start = testStart()
    await world.startTask(start)
    expect(await reportRun(world.temporal, start.taskId)).toBe('running')
    await handleOf(world, start.taskId).terminate('an operator')
    expect(await reportRun(world.temporal, start.taskId)).toBe('stopped')
    expect(await reportRun(world.temporal, testStart().taskId)).toBe('missing')
    const nowhere = connectTemporal({ address: '127.0.0.1:9', namespace: 'default' })
    expect(await reportRun(nowhere, start.taskId)).toBe('unreachable')
    await nowhere.close()
  })
})

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

  it('distinguishes a call, storing its answer, and standing in line', async () => {
    const storing = Promise.withResolvers<void>()
    const inLine = Promise.withResolvers<void>()
    const answer = Promise.withResolvers<ProduceResult>()
    const start = scripts.add({
      produce: [
        async ({ onStage }) => {
          onStage?.({ stage: 'calling', channel: 'b-main' })
          await storing.promise
          onStage?.({ stage: 'storing', channel: 'b-main' })
          await inLine.promise
          onStage?.({ stage: 'waiting' })
          return answer.promise
        },
      ],
    })
    await world.startTask(start)
    const ask = createReadRunStage(world.temporal)
    expect(await until('a stage', () => ask(start.taskId))).toEqual({ stage: 'calling' })
    const seen = (stage: string) =>
      until(stage, async () => (await ask(start.taskId))?.stage === stage || undefined)
    storing.resolve()
    await seen('storing')
    inLine.resolve()
    await seen('waiting')
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
