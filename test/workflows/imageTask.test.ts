import { WorkflowFailedError } from '@temporalio/client'
import { ApplicationFailure, defaultPayloadConverter } from '@temporalio/common'
import { describe, expect, it } from 'vitest'
import type { Script } from '../support/temporal/temporalWorld.ts'
import { useScriptedWorld, createScripts, handleOf } from '../support/temporal/temporalWorld.ts'
import { until } from '../support/timing.ts'

const scripts = createScripts()
const world = useScriptedWorld(scripts)

const wait = (delayMs: number) => ({ kind: 'wait', delayMs, reason: 'cooldown' }) as const
const refused = {
  kind: 'failed',
  failure: {
    code: 'rate_limit_exceeded',
    cause: 'refused',
    workPossible: false,
    retryAfterMs: 61_000,
  },
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

  it('fails with the recorded code as type', async () => {
    const { end, seen } = await outcome({ produce: [refused] })
    expect(end).toBeInstanceOf(WorkflowFailedError)
    const cause = end instanceof WorkflowFailedError ? end.cause : undefined
    expect(cause).toBeInstanceOf(ApplicationFailure)
    expect(cause).toMatchObject({ type: 'rate_limit_exceeded', details: [refused.failure] })
    expect(seen.givenUp).toEqual([false])
  })

  it('shows what a wait is for as the last failure of its pending activity', async () => {
    const handle = await run({ produce: [{ ...wait(60_000), channel: 'b-main' }] })
    const message = await until('the wait', async () => {
      const { raw } = await handle.describe()
      return raw.pendingActivities?.[0]?.lastFailure?.message ?? undefined
    })
    expect(message).toBe('cooldown (b-main)')
    await handle.terminate()
  })
})
