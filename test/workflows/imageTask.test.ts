import { WorkflowFailedError } from '@temporalio/client'
import { ApplicationFailure, defaultPayloadConverter } from '@temporalio/common'
import { describe, expect, it } from 'vitest'
import { fetchHistory } from '../../src/temporal/runs.ts'
import type { Script } from '../support/temporal/temporalWorld.ts'
import { useScriptedWorld, createScripts, handleOf } from '../support/temporal/temporalWorld.ts'
import { until } from '../support/timing.ts'

const scripts = createScripts()
const world = useScriptedWorld(scripts)

const wait = (delayMs: number) => ({ kind: 'wait', delayMs, reason: 'cooldown' }) as const
const rejected = {
  kind: 'end',
  failure: { code: 'content_policy_violation', cause: 'rejected', workPossible: false },
} as const

async function run(script: Script) {
  const start = scripts.add(script)
  await world.startTask(start)
  return handleOf(world, start.taskId)
}

async function outcome(script: Script) {
  const handle = await run(script)
  const end: unknown = await handle.result().catch((error: unknown) => error)
  const { events } = await handle.fetchHistory()
  const taskId = handle.workflowId.slice('image/'.length)
  return { end, events: events?.length, seen: scripts.seenOf(taskId), handle, taskId }
}

describe('imageTask', () => {
  it('brings a task to its end in eleven events', async () => {
    const { end, events } = await outcome({ produce: [{ kind: 'succeeded' }] })
    expect(end).toEqual({ outcome: 'succeeded' })
    expect(events).toBe(11)
  })

  it('waits as long as asked, and adds nothing to the history', async () => {
    const { end, events, seen } = await outcome({ produce: [wait(1_500), { kind: 'succeeded' }] })
    expect(end).toEqual({ outcome: 'succeeded' })
    expect(events).toBe(11)
    const [first = 0, second = 0] = seen.runsAtMs
    expect(second - first).toBeGreaterThanOrEqual(1_450)
  })

  it('completes without work when the task had already ended', async () => {
    const { end } = await outcome({ produce: [{ kind: 'over' }] })
    expect(end).toEqual({ outcome: 'over' })
  })

  it('runs its activity again after an operator completed it without a result', async () => {
    const completed = Promise.withResolvers<void>()
    const handle = await run({
      produce: [
        async () => {
          await completed.promise
          return { kind: 'succeeded' }
        },
        { kind: 'succeeded' },
      ],
    })
    const { workflowId } = handle
    const activityId = await until('the activity', async () => {
      const { raw } = await handle.describe()
      const [pending] = raw.pendingActivities ?? []
      return pending?.lastStartedTime ? pending.activityId : undefined
    })
    const { workflowService: service } = world.temporal.client
    await service.respondActivityTaskCompletedById({
      namespace: world.temporal.namespace,
      workflowId,
      activityId,
      result: { payloads: [defaultPayloadConverter.toPayload(null)] },
    })
    completed.resolve()
    expect(await handle.result()).toEqual({ outcome: 'succeeded' })
    expect(scripts.seenOf(workflowId.slice('image/'.length)).runsAtMs).toHaveLength(2)
  })

  it('records a failure and fails with its code as type', async () => {
    const { end, seen } = await outcome({ produce: [rejected] })
    expect(end).toBeInstanceOf(WorkflowFailedError)
    const cause = end instanceof WorkflowFailedError ? end.cause : undefined
    expect(cause).toBeInstanceOf(ApplicationFailure)
    expect(cause).toMatchObject({ type: 'content_policy_violation', details: [rejected.failure] })
    expect(seen.failures).toEqual([rejected.failure])
    expect(seen.runsAtMs).toHaveLength(1)
  })

  it('passes retryAfterMs of the last refusal to the record', async () => {
    const failure = {
      code: 'rate_limit_exceeded',
      cause: 'refused',
      workPossible: false,
      retryAfterMs: 61_000,
    } as const
    const { seen } = await outcome({ produce: [{ kind: 'end', failure }] })
    expect(seen.failures).toEqual([failure])
  })

  it('can be found by account, failure code and channel', async () => {
    const { handle } = await outcome({
      produce: [
        async ({ onStage }) => {
          onStage?.({ stage: 'calling', attempt: 1, channel: 'b-second' })
          return rejected
        },
      ],
    })
    const { searchAttributes } = await handle.describe()
    expect(searchAttributes).toMatchObject({
      DarkroomAccount: ['acct_test'],
      DarkroomModel: ['familyb-image-2-vip'],
      DarkroomFamily: ['B'],
      DarkroomAction: ['generate'],
      DarkroomFailureCode: ['content_policy_violation'],
      DarkroomChannel: ['b-second'],
    })
  })

  it('completes when recording its failure finds a stored answer', async () => {
    const { end } = await outcome({ produce: [rejected], recorded: 'succeeded' })
    expect(end).toEqual({ outcome: 'succeeded' })
  })

  it('runs again after an unexpected error, whose text stays out of the history', async () => {
    const { end, taskId } = await outcome({
      produce: [new Error('CANARY said the upstream'), { kind: 'succeeded' }],
    })
    expect(end).toEqual({ outcome: 'succeeded' })
    const history = await fetchHistory(world.temporal, taskId)
    expect(history).not.toContain('CANARY')
  })

  it('keeps the history below 50 KB through waits and a failure', async () => {
    const waits = Array.from({ length: 4 }, () => wait(1_001))
    const { taskId } = await outcome({ produce: [...waits, rejected] })
    const history = await fetchHistory(world.temporal, taskId)
    expect(history?.length).toBeGreaterThan(1_000)
    expect(history?.length).toBeLessThan(50_000)
  })

  it('reports its status to a query, running and closed', async () => {
    const asked = Promise.withResolvers<void>()
    const handle = await run({
      produce: [
        async () => {
          await asked.promise
          return { kind: 'succeeded' }
        },
      ],
    })
    expect(await handle.query('status')).toEqual({ stage: 'producing' })
    asked.resolve()
    await handle.result()
    expect(await handle.query('status')).toEqual({ stage: 'succeeded' })
  })

  it('shows what a wait is for as the last failure of its pending activity', async () => {
    const refusedBy = { channel: 'b-main', httpStatus: 429 }
    const handle = await run({ produce: [{ ...wait(60_000), refusedBy }] })
    const message = await until('the wait', async () => {
      const { raw } = await handle.describe()
      return raw.pendingActivities?.[0]?.lastFailure?.message ?? undefined
    })
    expect(message).toMatch(/^429 from b-main, until \d\d:\d\d:\d\d UTC$/)
    await handle.terminate()
  })

  it('does nothing when a finished task is reset', async () => {
    const { handle, seen } = await outcome({ produce: [{ kind: 'succeeded' }, { kind: 'over' }] })
    const { runId } = await handle.describe()
    const { events } = await handle.fetchHistory()
    const firstDone = events?.find((event) => event.workflowTaskCompletedEventAttributes)
    await world.temporal.client.workflowService.resetWorkflowExecution({
      namespace: world.settings.namespace,
      workflowExecution: { workflowId: handle.workflowId, runId },
      workflowTaskFinishEventId: firstDone?.eventId ?? null,
      requestId: runId,
      reason: 'an operator tries',
    })
    expect(await handle.result()).toEqual({ outcome: 'over' })
    expect(seen.runsAtMs).toHaveLength(2)
  })
})
