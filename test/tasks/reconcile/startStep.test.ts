import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Family } from '../../../src/domain/models/models.ts'
import type { TaskStart } from '../../../src/domain/tasks/taskStart.ts'
import { createStartStep } from '../../../src/tasks/reconcile/startStep.ts'
import { insertTask } from '../../support/database/insertTask.ts'
import type { ReconcileWorld } from '../../support/database/reconcileWorld.ts'
import {
  openReconcileWorld,
  runStep,
  setTask,
  taskRow,
} from '../../support/database/reconcileWorld.ts'
import { openAttempt } from '../../support/database/testAttempts.ts'
import { stackStartMsMax } from '../../support/stack/embeddedStack.ts'
import type { TemporalWorld } from '../../support/temporal/temporalWorld.ts'
import { openTestWorld, handleOf } from '../../support/temporal/temporalWorld.ts'

let world: ReconcileWorld
let temporal: TemporalWorld
const due = { next_check_at: `now() - interval '1 second'` }

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

async function dueTask(accountId = 'acct_a'): Promise<string> {
  const { taskId } = await insertTask(world.pool, { accountId, credits: 0 })
  await setTask(world.pool, taskId, due)
  return taskId
}

/** A start step whose Temporal can be away, in a worker with so many slots of each family. */
function starting(slots: number) {
  let away = false
  let free = slots
  const tried: string[] = []
  const ran: string[] = []
  const justTaken = new Set<string>()
  const startTask = async ({ taskId }: TaskStart): Promise<boolean> => {
    tried.push(taskId)
    return !away
  }
  const direct = {
    free: (family: Family) => (family === 'B' ? free : slots),
    hasJustTaken: (taskId: string) => justTaken.has(taskId),
    run: ({ taskId }: { readonly taskId: string }) => {
      free -= 1
      ran.push(taskId)
    },
  }
  const step = createStartStep({ store: world.store, startTask, direct })
  return {
    run: () => runStep(step),
    tried,
    ran,
    justTaken,
    setAway: (value: boolean) => void (away = value),
    freeSlots: (count: number) => void (free += count),
  }
}

describe('the start step', () => {
  it('starts an accepted task whose start was lost, with all fields of its row', async () => {
    const { taskId } = await insertTask(world.pool)
    await setTask(world.pool, taskId, { ...due, size: `'1024x1024'`, key_digest: `'\\xabcd'` })
    const direct = { free: () => 1, hasJustTaken: () => false, run: () => {} }
    const step = createStartStep({ store: world.store, startTask: temporal.startTask, direct })
    expect(await runStep(step)).toEqual([{ found: 'started', count: 1, taskId }])
    const row = await taskRow(world.pool, taskId)
    expect(row).toMatchObject({ started: true, status: 'queued' })
    expect(row?.nextCheck).toBeGreaterThan(10)
    const { searchAttributes } = await handleOf(temporal, taskId).describe()
    expect(searchAttributes).toMatchObject({
      DarkroomModel: ['familyb-image-2-vip'],
      DarkroomKeyDigest: ['abcd'],
    })
    expect(await runStep(step)).toEqual([])
  })

  it('starts everything that is due after an outage of Temporal, batch after batch', async () => {
    for (let count = 0; count < 230; count += 1) await dueTask()
    const { run, tried, ran } = starting(5)
    await run()
    expect(new Set(tried).size).toBe(230)
    expect(ran).toEqual([])
  })

  it('starts no run for a synchronous task that this worker has just taken', async () => {
    const [taken, other] = [await dueTask(), await dueTask()]
    const { run, tried, justTaken } = starting(5)
    justTaken.add(taken)
    await run()
    expect(tried).toEqual([other])
    justTaken.clear()
    await setTask(world.pool, taken, due)
    await run()
    expect(tried).toEqual([other, taken])
  })
})

describe('while Temporal is away', () => {
  it('a worker carries out as many tasks as it has slots, and tries one start each time', async () => {
    for (let count = 0; count < 40; count += 1) await dueTask()
    const { run, tried, ran, setAway, freeSlots } = starting(3)
    setAway(true)
    await run()
    expect(ran).toHaveLength(3)
    expect(tried.length).toBeLessThanOrEqual(16)
    await world.pool.query('update task set next_check_at = now(), checks = 0')
    for (const count of [1, 2, 0]) {
      const before = [tried.length, ran.length] as const
      freeSlots(count)
      await run()
      expect([tried.length - before[0], ran.length - before[1]]).toEqual([1, count])
    }
  })

  it('the only task of one account runs at once beside 2,000 of another', async () => {
    await dueTask('acct_a')
    await world.pool.query(
      `insert into task (task_id, account_id, key_id, route, family, model, action, request, fingerprint, credits,
         deadline_at, hard_end_at, next_check_at)
       select 'task_' || lpad(n::text, 32, '0'), account_id, key_id, route, family, model, action, request,
         fingerprint, credits, deadline_at, hard_end_at, next_check_at - interval '1 minute'
       from task, generate_series(2, 2000) as n`,
    )
    const { run, ran, setAway, freeSlots } = starting(2)
    setAway(true)
    await run()
    for (const taskId of ran) await openAttempt(world.attempts, taskId)
    const single = await dueTask('acct_b')
    freeSlots(1)
    await run()
    expect(ran).toHaveLength(3)
    expect(ran.at(-1)).toBe(single)
  })

  it('a worker without a free slot tries one start, and leaves the task due for one that has a slot', async () => {
    const taskId = await dueTask()
    const [full, other] = [starting(0), starting(1)]
    for (const { setAway } of [full, other]) setAway(true)
    for (let time = 0; time < 3; time += 1) await full.run()
    expect([full.tried.length, full.ran]).toEqual([3, []])
    await other.run()
    expect(other.ran).toEqual([taskId])
  })

  it('what still waits gets its run when Temporal is back', async () => {
    const { run, tried, ran, setAway } = starting(1)
    setAway(true)
    const [first, second] = [await dueTask(), await dueTask()]
    await run()
    expect(ran).toHaveLength(1)
    await openAttempt(world.attempts, ran[0] ?? '')
    setAway(false)
    await world.pool.query('update task set next_check_at = now()')
    tried.splice(0)
    await run()
    expect(tried).toEqual([first, second].filter((taskId) => taskId !== ran[0]))
  })
})
