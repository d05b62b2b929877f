import { setTimeout as sleep } from 'node:timers/promises'
import { beforeEach, describe, expect, it } from 'vitest'
import type { AttemptStore } from '../../../src/store/attempts/attemptStore.ts'
import type { CheckDeps } from '../../../src/tasks/reconcile/checkStep.ts'
import { createCheckStep } from '../../../src/tasks/reconcile/checkStep.ts'
import { insertTask } from '../../support/database/insertTask.ts'
import { balanceOf } from '../../support/database/money.ts'
import {
  runStep,
  setTask,
  storeTestAnswer,
  taskRow,
  useReconcileWorld,
} from '../../support/database/reconcileWorld.ts'
import { openAttempt } from '../../support/database/testAttempts.ts'
import { createTestProduceImage } from '../../support/database/testProduceImage.ts'

const world = useReconcileWorld()
beforeEach(() => world.pool.query('delete from task; delete from cooldown'))

const due = { next_check_at: `now() - interval '1 second'` }
const overdue = { ...due, started_at: 'now()' }
const pastDeadline = { ...due, deadline_at: `now() - interval '1 second'` }
const pastHardEnd = { ...pastDeadline, hard_end_at: `now() - interval '1 second'` }

const callUpstream = () => Promise.reject(new Error('the reconciler called an upstream'))

/** Runs the check step once, by default with running workflows. */
async function check(given: Partial<CheckDeps> = {}) {
  const restarted: string[] = []
  const failed: unknown[] = []
  const step = createCheckStep({
    pool: world.pool,
    attempts: world.attempts,
    produceImage: world.produceImage,
    reportRun: async () => 'running',
    startTask: async ({ taskId }) => restarted.push(taskId) > 0,
    log: { error: (_event, fields) => failed.push(fields?.taskId) },
    direct: { take: () => false },
    ...given,
  })
  return { found: await runStep(step), restarted, failed }
}

async function taskWith(columns: Readonly<Record<string, string>>) {
  const inserted = await insertTask(world.pool)
  await setTask(world.pool, inserted.taskId, columns)
  return inserted
}

describe('the check of an overdue task', () => {
  it.each(['running', 'unreachable'] as const)(
    'changes nothing when its run is %s, and comes again later',
    async (report) => {
      const { taskId } = await taskWith(overdue)
      const { found } = await check({ reportRun: async () => report })
      expect(found.map((one) => one.found)).toEqual(report === 'running' ? [] : [report])
      const row = await taskRow(world.pool, taskId)
      expect(row).toMatchObject({ status: 'queued', checks: 1 })
      expect(row?.nextCheck).toBeGreaterThan(10)
    },
  )

  it('starts a task again whose run Temporal has lost, unless its call is under way', async () => {
    const reportRun = async () => 'missing' as const
    const lost = await taskWith(overdue)
    const called = await insertTask(world.pool)
    await openAttempt(world.attempts, called.taskId)
    await setTask(world.pool, called.taskId, overdue)
    const { found, restarted } = await check({ reportRun })
    expect(found).toEqual([{ found: 'restarted', count: 1, taskId: lost.taskId }])
    expect(restarted).toEqual([lost.taskId])
  })

  it('asks only a few times in a run while Temporal is unreachable, and ends the task that is past its end', async () => {
    for (let count = 0; count < 30; count += 1) await taskWith(overdue)
    const { taskId } = await taskWith(pastDeadline)
    let asked = 0
    const reportRun = async () => {
      asked += 1
      await sleep(100)
      return 'unreachable' as const
    }
    const { found } = await check({ reportRun })
    expect(found).toContainEqual({ found: 'failed', count: 1, taskId })
    expect(asked).toBeLessThanOrEqual(8)
  })

  it('carries out as many tasks as there are free slots while Temporal is unreachable, but none with a call under way and none without a run', async () => {
    const called = await insertTask(world.pool)
    await openAttempt(world.attempts, called.taskId)
    await setTask(world.pool, called.taskId, overdue)
    await taskWith(due)
    const started = [await taskWith(overdue), await taskWith(overdue), await taskWith(overdue)]
    const ran: string[] = []
    const direct: CheckDeps['direct'] = {
      take: ({ taskId }) => ran.length < 2 && ran.push(taskId) > 0,
    }
    const { found } = await check({ direct, reportRun: async () => 'unreachable' })
    expect(ran).toHaveLength(2)
    expect(started.map(({ taskId }) => taskId)).toEqual(expect.arrayContaining(ran))
    expect(found.filter((one) => one.found === 'taken_over')).toHaveLength(2)
  })

  it('fails a task whose run ended without a record as upstream_error', async () => {
    const { taskId } = await taskWith(overdue)
    const { found } = await check({ reportRun: async () => 'ended' })
    expect(found).toEqual([{ found: 'failed', count: 1, taskId }])
    expect(await taskRow(world.pool, taskId)).toMatchObject({ failureCode: 'upstream_error' })
  })

  it.each(['stopped', 'ended'] as const)(
    'does not fail a task whose call begins during the check of its run, which is %s',
    async (report) => {
      const { taskId } = await taskWith(overdue)
      const { attempts, blobs } = world
      const failTask: AttemptStore['failTask'] = async (...given) => {
        await openAttempt(attempts, taskId)
        return attempts.failTask(...given)
      }
      const cancelTask = async () => 'work_possible' as const
      const { found } = await check({
        reportRun: async () => report,
        produceImage: createTestProduceImage({
          attempts: { ...attempts, failTask },
          blobs,
          callUpstream,
        }),
        attempts: { ...attempts, cancelTask },
      })
      expect(found).toEqual([])
      expect(await taskRow(world.pool, taskId)).toMatchObject({ status: 'processing' })
    },
  )
})

describe('the end of a task past its deadline', () => {
  it('is a timeout, released, when no call was made [money-11]', async () => {
    const { taskId, accountId } = await taskWith(pastDeadline)
    expect((await check()).found).toEqual([{ found: 'failed', count: 1, taskId }])
    expect(await taskRow(world.pool, taskId)).toMatchObject({
      failureCode: 'generation_timeout',
      workPossible: false,
    })
    expect(await balanceOf(world.pool, accountId)).toEqual({ available: 1000, held: 0, spent: 0 })
  })

  it('waits for a call under way, until the hard end [money-11]', async () => {
    const { taskId } = await insertTask(world.pool)
    await openAttempt(world.attempts, taskId)
    await setTask(world.pool, taskId, pastDeadline)
    expect((await check()).found).toEqual([])
    await setTask(world.pool, taskId, pastHardEnd)
    expect((await check()).found).toEqual([{ found: 'failed', count: 1, taskId }])
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
    expect((await check()).found).toEqual([{ found: 'settled', count: 1, taskId }])
    expect(await balanceOf(world.pool, accountId)).toEqual({ available: 990, held: 0, spent: 10 })
  })

  it('charges a stored image for what it is, though no worker lives that has seen its size [money-13]', async () => {
    const { taskId, accountId } = await insertTask(world.pool)
    const attempt = await openAttempt(world.attempts, taskId)
    await storeTestAnswer(world.blobs, { taskId, ...attempt })
    const smaller = `'[{"belowPixels": 257, "credits": 4}]'`
    await setTask(world.pool, taskId, { ...pastHardEnd, smaller_prices: smaller })
    expect((await check()).found).toEqual([{ found: 'settled', count: 1, taskId }])
    expect(await balanceOf(world.pool, accountId)).toEqual({ available: 996, held: 0, spent: 4 })
  })

  it('does not hold up the others when a task cannot be ended', async () => {
    const stuck = await taskWith({ ...pastDeadline, next_check_at: `'-infinity'` })
    const other = await taskWith(pastDeadline)
    const { found, failed } = await check({
      produceImage: async (input) => {
        if (input.taskId === stuck.taskId) throw new Error('the database had a moment')
        return world.produceImage(input)
      },
    })
    expect(found).toEqual([{ found: 'failed', count: 1, taskId: other.taskId }])
    expect(failed).toEqual([stuck.taskId])
    const row = await taskRow(world.pool, stuck.taskId)
    expect(row).toMatchObject({ status: 'queued', checks: 1 })
    expect(row?.nextCheck).toBeGreaterThan(1)
  })
})

describe('the end of a task while the blob store cannot be read', () => {
  const hardEnd = (ago: string) => ({
    ...due,
    deadline_at: `now() - interval '1 hour'`,
    hard_end_at: `now() - interval '${ago}'`,
  })
  const read = () => Promise.reject(new Error('the blob store is away'))
  const checkWhileAway = () => {
    const { attempts, blobs } = world
    const away = { attempts, blobs: { ...blobs, read }, callUpstream }
    return check({ produceImage: createTestProduceImage(away) })
  }

  it('comes only minutes past the hard end, and at the second look', async () => {
    const { taskId, accountId } = await insertTask(world.pool)
    await openAttempt(world.attempts, taskId)
    await setTask(world.pool, taskId, hardEnd('4 minutes'))
    expect(await checkWhileAway()).toMatchObject({ found: [], failed: [taskId] })
    const never = { ...hardEnd('6 minutes'), next_check_at: `now() - interval '1 hour'` }
    await setTask(world.pool, taskId, never)
    expect(await checkWhileAway()).toMatchObject({ found: [], failed: [taskId] })
    expect(await taskRow(world.pool, taskId)).toMatchObject({ status: 'processing', checks: 2 })
    expect(await balanceOf(world.pool, accountId)).toMatchObject({ held: 10 })
  })

  it('comes then without the store, releases the hold, and is final', async () => {
    const { taskId, accountId } = await insertTask(world.pool)
    const attempt = await openAttempt(world.attempts, taskId)
    await storeTestAnswer(world.blobs, { taskId, ...attempt })
    await setTask(world.pool, taskId, hardEnd('6 minutes'))
    expect((await checkWhileAway()).found).toEqual([{ found: 'failed', count: 1, taskId }])
    expect(await taskRow(world.pool, taskId)).toMatchObject({
      failureCode: 'generation_timeout',
      workPossible: true,
    })
    const released = { available: 1000, held: 0, spent: 0 }
    expect(await balanceOf(world.pool, accountId)).toEqual(released)
    // The store can be read again and contains the image.
    expect(await world.produceImage({ taskId, giveUp: true })).toMatchObject({ kind: 'over' })
    expect(await balanceOf(world.pool, accountId)).toEqual(released)
  })

  it('does not come after any other error', async () => {
    const { taskId } = await insertTask(world.pool)
    await openAttempt(world.attempts, taskId)
    await setTask(world.pool, taskId, hardEnd('6 minutes'))
    const produceImage = () => Promise.reject(new Error('the database had a moment'))
    expect(await check({ produceImage })).toMatchObject({ found: [], failed: [taskId] })
  })
})
