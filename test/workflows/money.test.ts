import { expect, it, onTestFinished } from 'vitest'
import { createActivities } from '../../activities/createActivities.ts'
import type { UpstreamOutcome } from '../../src/domain/upstream/upstreamCall.ts'
import { insertTask } from '../support/database/insertTask.ts'
import { balanceOf } from '../support/database/money.ts'
import { taskRow, useReconcileWorld } from '../support/database/reconcileWorld.ts'
import { createTestProduceImage } from '../support/database/testProduceImage.ts'
import {
  failActivity,
  handleOf,
  openTestWorld,
  startTestWorker,
  testStart,
} from '../support/temporal/temporalWorld.ts'
import { until } from '../support/timing.ts'
import { succeeded } from '../support/upstream/countedUpstream.ts'

const world = useReconcileWorld()

it('waits for the call of an activity that an operator fails, and its image is charged', async () => {
  const temporal = await openTestWorld()
  onTestFinished(temporal.close)
  const { attempts, blobs } = world
  const answer = Promise.withResolvers<UpstreamOutcome>()
  let calls = 0
  const callUpstream = () => {
    calls += 1
    return answer.promise
  }
  const worker = await startTestWorker(
    temporal.settings,
    createActivities({
      produceImage: createTestProduceImage({ attempts, blobs, callUpstream }),
      cancelTask: attempts.cancelTask,
      onUnexpected: () => {},
      stopping: new AbortController().signal,
    }),
  )
  onTestFinished(worker.stop)
  const task = await insertTask(world.pool)
  await temporal.startTask({ ...testStart(), ...task })
  const handle = handleOf(temporal, task.taskId)
  await until('the call', () => (calls > 0 ? true : undefined))

  await failActivity(temporal, task.taskId)
  await until('the wait for the call', async () => {
    const { raw: run } = await handle.describe()
    const [activity] = run.pendingActivities ?? []
    const isWaiting = activity?.lastFailure?.message?.startsWith('call under way')
    return isWaiting === true ? true : undefined
  })
  expect(await taskRow(world.pool, task.taskId)).toMatchObject({ status: 'processing' })
  answer.resolve(succeeded())
  expect(await handle.result()).toEqual({ outcome: 'succeeded' })
  expect(await balanceOf(world.pool, task.accountId)).toEqual({
    available: 990,
    held: 0,
    spent: 10,
  })
  expect(calls).toBe(1)
})
