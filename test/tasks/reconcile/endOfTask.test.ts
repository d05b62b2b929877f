import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createCheckStep } from '../../../src/tasks/reconcile/checkStep.ts'
import { insertTask } from '../../support/database/insertTask.ts'
import { balanceOf } from '../../support/database/money.ts'
import type { ReconcileWorld } from '../../support/database/reconcileWorld.ts'
import {
  openReconcileWorld,
  runStep,
  setTask,
  storeTestAnswer,
  taskRow,
} from '../../support/database/reconcileWorld.ts'
import { openAttempt } from '../../support/database/testAttempts.ts'
import { createTestProduceImage } from '../../support/database/testProduceImage.ts'
import { stackStartMsMax } from '../../support/stack/embeddedStack.ts'

let world: ReconcileWorld
const due = { next_check_at: `now() - interval '1 second'` }
const pastDeadline = { ...due, deadline_at: `now() - interval '1 second'` }
const pastHardEnd = { ...pastDeadline, hard_end_at: `now() - interval '1 second'` }

beforeAll(async () => {
  world = await openReconcileWorld()
  return () => world.close()
}, stackStartMsMax)

beforeEach(async () => {
  await world.pool.query('delete from task')
  await world.pool.query('delete from cooldown')
})

function endStep(produceImage = world.produceImage) {
  const failed: string[] = []
  const { store, attempts } = world
  const step = createCheckStep({
    store,
    produceImage,
    attempts,
    reportRun: async () => 'running',
    startTask: async () => true,
    onError: (taskId) => void failed.push(taskId),
  })
  return { run: () => runStep(step), failed }
}

describe('the end of a task past its deadline', () => {
  it('is a timeout, released, when no call was made [money-11]', async () => {
    const { taskId, accountId } = await insertTask(world.pool)
    await setTask(world.pool, taskId, pastDeadline)
    expect(await endStep().run()).toEqual([{ found: 'failed', count: 1, taskId }])
    expect(await taskRow(world.pool, taskId)).toMatchObject({
      failureCode: 'generation_timeout',
      workPossible: false,
    })
    expect(await balanceOf(world.pool, accountId)).toEqual({ available: 1000, held: 0, spent: 0 })
  })

  it('is a rate limit when the last call was refused', async () => {
    const { taskId } = await insertTask(world.pool)
    const { n } = await openAttempt(world.attempts, taskId)
    await world.attempts.closeAttempt({
      taskId,
      n,
      class: 'refused',
      evidence: { reason: 'rate_limited', httpStatus: 429 },
    })
    await setTask(world.pool, taskId, pastDeadline)
    await endStep().run()
    expect(await taskRow(world.pool, taskId)).toMatchObject({ failureCode: 'rate_limit_exceeded' })
  })

  it('waits for a call under way, until the hard end [money-11]', async () => {
    const { taskId } = await insertTask(world.pool)
    await openAttempt(world.attempts, taskId)
    await setTask(world.pool, taskId, pastDeadline)
    expect(await endStep().run()).toEqual([])
    await setTask(world.pool, taskId, pastHardEnd)
    expect(await endStep().run()).toEqual([{ found: 'failed', count: 1, taskId }])
    expect(await taskRow(world.pool, taskId)).toMatchObject({
      failureCode: 'generation_timeout',
      workPossible: true,
    })
  })

  it('is the image when an answer was stored and not settled [money-11]', async () => {
    const { taskId, accountId } = await insertTask(world.pool)
    const attempt = await openAttempt(world.attempts, taskId)
    await storeTestAnswer(world.blobs, { taskId, ...attempt })
    await setTask(world.pool, taskId, pastHardEnd)
    expect(await endStep().run()).toEqual([{ found: 'settled', count: 1, taskId }])
    expect(await balanceOf(world.pool, accountId)).toEqual({ available: 990, held: 0, spent: 10 })
  })

  it('does not hold up the others when a task cannot be ended', async () => {
    const stuck = await insertTask(world.pool)
    const other = await insertTask(world.pool)
    await setTask(world.pool, stuck.taskId, { ...pastDeadline, next_check_at: `'-infinity'` })
    await setTask(world.pool, other.taskId, pastDeadline)
    const { run, failed } = endStep(async (input) => {
      if (input.taskId === stuck.taskId) throw new Error('the blob store is away')
      return world.produceImage(input)
    })
    expect(await run()).toEqual([{ found: 'failed', count: 1, taskId: other.taskId }])
    expect(failed).toEqual([stuck.taskId])
    const row = await taskRow(world.pool, stuck.taskId)
    expect(row).toMatchObject({ status: 'queued', checks: 1 })
    expect(row?.nextCheck).toBeGreaterThan(1)
  })

  describe('while the blob store cannot be read', () => {
    const lookedAt = { next_check_at: `now() - interval '1 second'` }
    const never = { ...lookedAt, next_check_at: `now() - interval '1 hour'` }
    const hardEnd = (ago: string) => ({
      deadline_at: `now() - interval '1 hour'`,
      hard_end_at: `now() - interval '${ago}'`,
    })
    const awayStep = () => {
      const blobs = {
        ...world.blobs,
        read: async () => {
          throw new Error('the blob store is away')
        },
      }
      const callUpstream = async () => {
        throw new Error('the reconciler called an upstream')
      }
      const produceImage = createTestProduceImage({
        attempts: world.attempts,
        blobs,
        callUpstream,
      })
      return { ...endStep(produceImage), produceImage }
    }

    it('comes only minutes past the hard end, and at the second look', async () => {
      const { taskId, accountId } = await insertTask(world.pool)
      await openAttempt(world.attempts, taskId)
      const { run, failed } = awayStep()
      await setTask(world.pool, taskId, { ...hardEnd('4 minutes'), ...lookedAt })
      expect(await run()).toEqual([])
      await setTask(world.pool, taskId, { ...hardEnd('6 minutes'), ...never })
      expect(await run()).toEqual([])
      expect(failed).toEqual([taskId, taskId])
      expect(await taskRow(world.pool, taskId)).toMatchObject({ status: 'processing', checks: 2 })
      expect(await balanceOf(world.pool, accountId)).toMatchObject({ held: 10 })
    })

    it('comes then without the store, releases the hold, and is final', async () => {
      const { taskId, accountId } = await insertTask(world.pool)
      const attempt = await openAttempt(world.attempts, taskId)
      await storeTestAnswer(world.blobs, { taskId, ...attempt })
      await setTask(world.pool, taskId, { ...hardEnd('6 minutes'), ...lookedAt })
      const { run, produceImage } = awayStep()
      expect(await run()).toEqual([{ found: 'failed', count: 1, taskId }])
      expect(await taskRow(world.pool, taskId)).toMatchObject({
        failureCode: 'generation_timeout',
        workPossible: true,
      })
      const released = { available: 1000, held: 0, spent: 0 }
      expect(await balanceOf(world.pool, accountId)).toEqual(released)
      // The workflow records its own end too. It finds the task ended and does not read the store.
      expect(await produceImage({ taskId, giveUp: true })).toMatchObject({ kind: 'over' })
      // The store can be read again and contains the image.
      expect(await endStep().run()).toEqual([])
      expect(await world.produceImage({ taskId, giveUp: true })).toMatchObject({ kind: 'over' })
      expect(await balanceOf(world.pool, accountId)).toEqual(released)
    })

    it('does not come after any other error', async () => {
      const { taskId } = await insertTask(world.pool)
      await openAttempt(world.attempts, taskId)
      await setTask(world.pool, taskId, { ...hardEnd('6 minutes'), ...lookedAt })
      const { run, failed } = endStep(async () => {
        throw new Error('the database had a moment')
      })
      expect(await run()).toEqual([])
      expect(failed).toEqual([taskId])
    })
  })

  it('does not come before the deadline', async () => {
    const { taskId } = await insertTask(world.pool)
    await setTask(world.pool, taskId, due)
    expect(await endStep().run()).toEqual([])
  })
})
