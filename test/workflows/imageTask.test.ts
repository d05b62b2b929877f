import { WorkflowFailedError } from '@temporalio/client'
import { ApplicationFailure, defaultPayloadConverter } from '@temporalio/common'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createActivities } from '../../activities/createActivities.ts'
import type { UpstreamOutcome } from '../../src/domain/upstream/upstreamCall.ts'
import type { ProduceResult } from '../../src/tasks/produce/produceImage.ts'
import { cancelWorkflow } from '../../src/temporal/runs.ts'
import { insertTask } from '../support/database/insertTask.ts'
import { balanceOf } from '../support/database/money.ts'
import { taskRow, useReconcileWorld } from '../support/database/reconcileWorld.ts'
import { createTestProduceImage } from '../support/database/testProduceImage.ts'
import { quiet } from '../support/quiet.ts'
import type { Script } from '../support/temporal/temporalWorld.ts'
import {
  createScripts,
  failActivity,
  handleOf,
  openTestWorld,
  startTestWorker,
  testStart,
  useScriptedWorld,
} from '../support/temporal/temporalWorld.ts'
import { until } from '../support/timing.ts'
import { succeeded } from '../support/upstream/countedUpstream.ts'

const scripts = createScripts()
const world = useScriptedWorld(scripts)

const wait = (delayMs: number) => ({ kind: 'wait', delayMs, reason: 'cooldown' }) as const

async function run(script: Script) {
  const start = scripts.add(script)
  await world.startTask(start)
  return { handle: handleOf(world, start.taskId), seen: scripts.seenOf(start.taskId) }
}

/** An upstream call that is under way until `answer` is called. */
function heldCall<Answer>() {
  const { promise, resolve } = Promise.withResolvers<Answer>()
  return { call: () => promise, answer: resolve }
}

describe('imageTask', () => {
  it('brings a task to its end in eleven events, and waits as long as asked without a further one', async () => {
    const { handle, seen } = await run({ produce: [wait(1_500), { kind: 'succeeded' }] })
    expect(await handle.result()).toEqual({ outcome: 'succeeded' })
    expect((await handle.fetchHistory()).events).toHaveLength(11)
    const [first = 0, second = 0] = seen.runsAtMs
    expect(second - first).toBeGreaterThanOrEqual(1_450)
  })

  it('fails with the recorded code as type', async () => {
    const failure = { code: 'rate_limit_exceeded', cause: 'refused', workPossible: false } as const
    const { handle, seen } = await run({ produce: [{ kind: 'failed', failure }] })
    const end: unknown = await handle.result().catch((error: unknown) => error)
    const cause = end instanceof WorkflowFailedError ? end.cause : undefined
    expect(cause).toBeInstanceOf(ApplicationFailure)
    expect(cause).toMatchObject({ type: 'rate_limit_exceeded', details: [failure] })
    expect(seen.givenUp).toEqual([false])
  })

  it('shows what a wait is for as the last failure of its pending activity', async () => {
    const { handle } = await run({ produce: [{ ...wait(60_000), channel: 'b-main' }] })
    const message = await until('the wait', async () => {
      const { raw } = await handle.describe()
      return raw.pendingActivities?.[0]?.lastFailure?.message ?? undefined
    })
    expect(message).toBe('cooldown (b-main)')
    await handle.terminate()
  })
})

describe('an operator in Temporal', () => {
  it('who cancels a run whose task may not be cancelled lets its call finish', async () => {
    const { call, answer } = heldCall<ProduceResult>()
    let aborted: boolean | undefined
    const { handle, seen } = await run({
      produce: [
        async ({ signal }) => {
          const result = await call()
          aborted = signal?.aborted
          return result
        },
      ],
      cancelled: false,
    })
    await until('the call', () => (seen.runsAtMs.length > 0 ? true : undefined))
    await cancelWorkflow(world.temporal, handle.workflowId.slice('image/'.length))
    await until('the answer to the cancel', async () => {
      const { cancel } = await handle.query<{ cancel?: string }>('status')
      return cancel === 'kept' ? true : undefined
    })
    answer({ kind: 'succeeded' })
    expect(await handle.result()).toEqual({ outcome: 'succeeded' })
    expect(await handle.query('status')).toEqual({ stage: 'succeeded', cancel: 'kept' })
    expect([aborted, seen.runsAtMs.length]).toEqual([false, 1])
  })

  it('who completes the activity without a result makes it run again', async () => {
    const { call, answer } = heldCall<ProduceResult>()
    const { handle, seen } = await run({ produce: [call, { kind: 'succeeded' }] })
    const { workflowId } = handle
    const activityId = await until('the activity', async () => {
      const [pending] = (await handle.describe()).raw.pendingActivities ?? []
      return pending?.lastStartedTime ? pending.activityId : undefined
    })
    const { client, namespace } = world.temporal
    await client.workflowService.respondActivityTaskCompletedById({
      namespace,
      workflowId,
      activityId,
      result: { payloads: [defaultPayloadConverter.toPayload(null)] },
    })
    answer({ kind: 'succeeded' })
    expect(await handle.result()).toEqual({ outcome: 'succeeded' })
    expect(seen.runsAtMs).toHaveLength(2)
  })

  const database = useReconcileWorld()

  it('who fails the activity makes the run wait for the call, and its image is charged', async () => {
    const temporal = await openTestWorld()
    onTestFinished(temporal.close)
    const { attempts, blobs, pool } = database
    const { call, answer } = heldCall<UpstreamOutcome>()
    let calls = 0
    const callUpstream = () => {
      calls += 1
      return call()
    }
    const produceImage = createTestProduceImage({ attempts, blobs, callUpstream })
    const { cancelTask } = attempts
    const stopping = new AbortController().signal
    const activities = createActivities({ ...quiet, produceImage, cancelTask, stopping })
    const worker = await startTestWorker(temporal.settings, activities)
    onTestFinished(worker.stop)
    const task = await insertTask(pool)
    await temporal.startTask({ ...testStart(), ...task })
    const handle = handleOf(temporal, task.taskId)
    await until('the call', () => (calls > 0 ? true : undefined))

    await failActivity(temporal, task.taskId)
    await until('the wait for the call', async () => {
      const [activity] = (await handle.describe()).raw.pendingActivities ?? []
      const isWaiting = activity?.lastFailure?.message?.startsWith('call under way')
      return isWaiting === true ? true : undefined
    })
    expect(await taskRow(pool, task.taskId)).toMatchObject({ status: 'processing' })
    answer(succeeded())
    expect(await handle.result()).toEqual({ outcome: 'succeeded' })
    expect(await balanceOf(pool, task.accountId)).toEqual({ available: 990, held: 0, spent: 10 })
    expect(calls).toBe(1)
  })
})
