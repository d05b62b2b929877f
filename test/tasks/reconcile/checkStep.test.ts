import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { RunReport } from '../../../src/temporal/runs.ts'
import type { CheckDeps } from '../../../src/tasks/reconcile/checkStep.ts'
import type { AttemptStore } from '../../../src/store/attempts/attemptStore.ts'
import { createCheckStep } from '../../../src/tasks/reconcile/checkStep.ts'
import { reportRun } from '../../../src/temporal/runs.ts'
import { insertTask } from '../../support/database/insertTask.ts'
import type { ReconcileWorld } from '../../support/database/reconcileWorld.ts'
import {
  openReconcileWorld,
  runStep,
  setTask,
  taskRow,
} from '../../support/database/reconcileWorld.ts'
import { openAttempt } from '../../support/database/testAttempts.ts'
import { createTestProduceImage } from '../../support/database/testProduceImage.ts'
import { stackStartMsMax } from '../../support/stack/embeddedStack.ts'
import type { TemporalWorld } from '../../support/temporal/temporalWorld.ts'
import { openTestWorld, handleOf, testStart } from '../../support/temporal/temporalWorld.ts'

let world: ReconcileWorld
let temporal: TemporalWorld
const overdue = { started_at: 'now()', next_check_at: `now() - interval '1 second'` }

beforeAll(async () => {
  world = await openReconcileWorld()
  temporal = await openTestWorld()
  return async () => {
    await temporal.close()
    await world.close()
  }
}, stackStartMsMax)

beforeEach(async () => {
  await world.pool.query('delete from task')
})

function check(
  given: Partial<Pick<CheckDeps, 'reportRun' | 'produceImage' | 'attempts' | 'onError'>> & {
    readonly report?: RunReport
  } = {},
) {
  const { store, attempts } = world
  const { report, ...others } = given
  return runStep(
    createCheckStep({
      store,
      reportRun:
        report === undefined
          ? (taskId: string) => reportRun(temporal.temporal, taskId)
          : async () => report,
      startTask: temporal.startTask,
      attempts,
      produceImage: world.produceImage,
      onError: (taskId, error) => {
        throw new Error(`${taskId} was not checked`, { cause: error })
      },
      ...others,
    }),
  )
}

/** A task with a real run, due for the check. */
async function startedTask() {
  const inserted = await insertTask(world.pool)
  await temporal.startTask({ ...testStart(), ...inserted })
  await setTask(world.pool, inserted.taskId, overdue)
  return inserted
}

describe('the check of an overdue task', () => {
  it('changes nothing about a running task', async () => {
    const { taskId } = await startedTask()
    expect(await check()).toEqual([])
    const row = await taskRow(world.pool, taskId)
    expect(row).toMatchObject({ status: 'queued', checks: 1 })
    expect(row?.nextCheck).toBeGreaterThan(10)
  })

  it('starts a task again whose run Temporal has lost', async () => {
    const { taskId } = await insertTask(world.pool)
    await setTask(world.pool, taskId, overdue)
    expect(await check()).toEqual([{ found: 'restarted', count: 1, taskId }])
    expect((await handleOf(temporal, taskId).describe()).status.name).toBe('RUNNING')
    expect((await taskRow(world.pool, taskId))?.nextCheck).toBeGreaterThan(10)
  })

  it('does not start a task again while its call is under way', async () => {
    const { taskId } = await insertTask(world.pool)
    await openAttempt(world.attempts, taskId)
    await setTask(world.pool, taskId, overdue)
    expect(await check()).toEqual([])
    await expect(handleOf(temporal, taskId).describe()).rejects.toThrow('not found')
  })

  it('changes nothing while Temporal is unreachable', async () => {
    const { taskId } = await insertTask(world.pool)
    await setTask(world.pool, taskId, overdue)
    expect(await check({ report: 'unreachable' })).toEqual([
      { found: 'unreachable', count: 1, taskId },
    ])
    const row = await taskRow(world.pool, taskId)
    expect(row?.status).toBe('queued')
    expect(row?.nextCheck).toBeGreaterThan(1)
  })

  it('asks only a few times in a run while Temporal is unreachable, and ends the task that is past its end', async () => {
    for (let count = 0; count < 30; count += 1) {
      const { taskId } = await insertTask(world.pool)
      await setTask(world.pool, taskId, overdue)
    }
    const { taskId } = await insertTask(world.pool)
    await setTask(world.pool, taskId, { deadline_at: 'now()', next_check_at: 'now()' })
    let asked = 0
    const reportRun = async () => {
      asked += 1
      await sleep(100)
      return 'unreachable' as const
    }
    expect(await check({ reportRun })).toContainEqual({ found: 'failed', count: 1, taskId })
    expect(asked).toBeLessThanOrEqual(8)
  })

  it('ignores tasks that are not due or not started', async () => {
    const notDue = await startedTask()
    await setTask(world.pool, notDue.taskId, { next_check_at: `now() + interval '1 hour'` })
    const notStarted = await startedTask()
    await setTask(world.pool, notStarted.taskId, { started_at: 'null' })
    expect(await check({ report: 'stopped' })).toEqual([])
  })
})

describe('a task whose run was terminated', () => {
  it.each(['stopped', 'ended'] as const)(
    'is not failed when its call begins during the check of its run, which is %s',
    async (report) => {
      const { taskId } = await insertTask(world.pool)
      await setTask(world.pool, taskId, overdue)
      const { attempts, blobs } = world
      const failTask: AttemptStore['failTask'] = async (...given) => {
        await openAttempt(attempts, taskId)
        return attempts.failTask(...given)
      }
      const callUpstream = () => Promise.reject(new Error('the reconciler called an upstream'))
      const produceImage = createTestProduceImage({
        attempts: { ...attempts, failTask },
        blobs,
        callUpstream,
      })
      const cancelTask = async () => 'work_possible' as const
      const given = { report, produceImage, attempts: { ...attempts, cancelTask } }
      expect(await check(given)).toEqual([])
      const row = await taskRow(world.pool, taskId)
      expect(row).toMatchObject({ status: 'processing' })
      expect(row?.nextCheck).toBeGreaterThan(2)
    },
  )
})

describe('a task whose run ended without a record', () => {
  it('fails as upstream_error, because no operator stopped it', async () => {
    const { taskId } = await insertTask(world.pool)
    await setTask(world.pool, taskId, overdue)
    expect(await check({ report: 'ended' })).toEqual([{ found: 'failed', count: 1, taskId }])
    expect(await taskRow(world.pool, taskId)).toMatchObject({ failureCode: 'upstream_error' })
  })
})
