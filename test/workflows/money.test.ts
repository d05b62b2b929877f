import { randomBytes } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { createActivities } from '../../activities/createActivities.ts'
import { workflowIdOf } from '../../src/domain/ids.ts'
import type { TaskStart } from '../../src/domain/ports/taskRuns.ts'
import type { UpstreamCall, UpstreamOutcome } from '../../src/domain/upstream/upstreamCall.ts'
import { createProduceImage } from '../../src/tasks/produceImage.ts'
import { createSettleOrFail } from '../../src/tasks/settleOrFail.ts'
import { cancelWorkflow } from '../../src/temporal/runs.ts'
import { streamOf } from '../support/byteStreams.ts'
import { insertTask } from '../support/database/insertTask.ts'
import { balanceOf } from '../support/database/money.ts'
import type { ReconcileWorld } from '../support/database/reconcileWorld.ts'
import { openReconcileWorld, setTask, taskRow } from '../support/database/reconcileWorld.ts'
import { stackStartMsMax } from '../support/stack/embeddedStack.ts'
import type { TemporalWorld } from '../support/temporal/temporalWorld.ts'
import {
  openTestWorld,
  handleOf,
  startTestWorker,
  testStart,
} from '../support/temporal/temporalWorld.ts'
import { alwaysPresent } from '../support/database/testAttempts.ts'
import { until } from '../support/timing.ts'

/** What an operator in Temporal can do to the money of a task. Only the upstream's answer is simulated. */

let world: ReconcileWorld
let temporal: TemporalWorld
const calls = new Map<string, PromiseWithResolvers<UpstreamOutcome>>()

beforeAll(async () => {
  world = await openReconcileWorld()
  temporal = await openTestWorld()
  const { attempts, blobs } = world
  const worker = await startTestWorker(
    temporal.settings,
    createActivities({
      produceImage: createProduceImage({ presence: alwaysPresent, attempts, blobs, callUpstream }),
      settleOrFail: createSettleOrFail({ attempts, blobs }),
      cancelTask: attempts.cancelTask,
      onUnexpected: () => {},
    }),
  )
  return async () => {
    await worker.stop()
    await temporal.close()
    await world.close()
  }
}, stackStartMsMax)

/** `upstreamKey` is the task's id and the number of the first attempt of its chain. */
function callUpstream({ upstreamKey }: UpstreamCall): Promise<UpstreamOutcome> {
  const call = Promise.withResolvers<UpstreamOutcome>()
  calls.set(upstreamKey.replace(/-\d+$/, ''), call)
  return call.promise
}

const refused: UpstreamOutcome = {
  class: 'refused',
  evidence: { reason: 'rate_limited', httpStatus: 429 },
  retryAfterMs: 300_000,
}
const unknown: UpstreamOutcome = { class: 'unknown', evidence: { reason: 'server_error' } }

function image(): UpstreamOutcome {
  const bytes = randomBytes(64)
  return {
    class: 'succeeded',
    evidence: { reason: 'image', httpStatus: 200 },
    image: {
      mimeType: 'image/png',
      bytes: bytes.length,
      width: 1,
      height: 1,
      open: () => streamOf([bytes]),
      discard: async () => {},
    },
    native: { response: { data: [{ b64_json: '' }] }, imagePath: ['data', 0, 'b64_json'] },
  }
}

type Started = Awaited<ReturnType<typeof startedTask>>

async function startedTask() {
  await world.pool.query('delete from cooldown')
  const inserted = await insertTask(world.pool)
  const start: TaskStart = { ...testStart(), ...inserted }
  await temporal.startTask(start)
  await setTask(world.pool, inserted.taskId, { started_at: 'now()' })
  const call = await until('the call', () => calls.get(inserted.taskId))
  return { ...inserted, call, handle: handleOf(temporal, inserted.taskId) }
}

/** Its first call refused for five minutes: no work was done. */
async function waitingTask(): Promise<Started> {
  const task = await startedTask()
  task.call.resolve(refused)
  await until('the wait', async () => {
    const { raw } = await task.handle.describe()
    return raw.pendingActivities?.some(({ attempt }) => attempt === 2) === true ? true : undefined
  })
  return task
}

const end = ({ handle }: Started): Promise<unknown> =>
  handle.result().catch((error: unknown) => error)
const released = { available: 1000, held: 0, spent: 0 }
const charged = { available: 990, held: 0, spent: 10 }

async function money({ accountId }: Started) {
  return balanceOf(world.pool, accountId)
}

describe('a cancelled workflow', () => {
  it('ends as Cancelled when the task was cancelled before', async () => {
    const task = await waitingTask()
    expect(await world.attempts.cancelTask(task.taskId, 'asked')).toBe('cancelled')
    await cancelWorkflow(temporal.temporal, task.taskId)
    await end(task)
    expect((await task.handle.describe()).status.name).toBe('CANCELLED')
    expect(await money(task)).toEqual(released)
  })

  it('continues after a call with an unknown outcome', async () => {
    const task = await startedTask()
    calls.delete(task.taskId)
    task.call.resolve(unknown)
    await cancelWorkflow(temporal.temporal, task.taskId)
    const again = await until('the second call', () => calls.get(task.taskId))
    again.resolve(image())
    expect(await end(task)).toEqual({ outcome: 'succeeded' })
    expect(await money(task)).toEqual(charged)
  })
})

describe('an activity that an operator fails in the middle of its call', () => {
  it('is waited for, and its image is charged', async () => {
    const task = await startedTask()
    const { raw } = await task.handle.describe()
    await temporal.temporal.client.workflowService.respondActivityTaskFailedById({
      namespace: temporal.settings.namespace,
      workflowId: workflowIdOf(task.taskId),
      activityId: raw.pendingActivities?.[0]?.activityId ?? '',
      failure: { message: 'an operator', applicationFailureInfo: { nonRetryable: true } },
      identity: 'an operator',
    })
    await until('the wait for the call', async () => {
      const { raw: run } = await task.handle.describe()
      const [activity] = run.pendingActivities ?? []
      const waits = activity?.activityType?.name === 'recordFailure' && activity.attempt === 2
      return waits ? true : undefined
    })
    expect(await taskRow(world.pool, task.taskId)).toMatchObject({ status: 'processing' })
    task.call.resolve(image())
    expect(await end(task)).toEqual({ outcome: 'succeeded' })
    expect(await money(task)).toEqual(charged)
  })
})
