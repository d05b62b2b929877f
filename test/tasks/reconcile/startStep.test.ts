import { beforeEach, describe, expect, it } from 'vitest'
import type { Family } from '../../../src/domain/models/models.ts'
import type { TaskStart } from '../../../src/domain/tasks/taskStart.ts'
import { createStartStep } from '../../../src/tasks/reconcile/startStep.ts'
import { insertTask } from '../../support/database/insertTask.ts'
import {
  runStep,
  setTask,
  taskRow,
  useReconcileWorld,
} from '../../support/database/reconcileWorld.ts'
import { openAttempt } from '../../support/database/testAttempts.ts'

const world = useReconcileWorld()
beforeEach(() => world.pool.query('delete from task'))

const due = { next_check_at: `now() - interval '1 second'` }

async function dueTask(accountId = 'acct_a'): Promise<string> {
  const { taskId } = await insertTask(world.pool, { accountId, credits: 0 })
  await setTask(world.pool, taskId, due)
  return taskId
}

/** A start step whose Temporal can be away, in a worker with so many slots of each family. */
function starting(slots: number) {
  let away = false
  let free = slots
  const tried: TaskStart[] = []
  const ran: string[] = []
  const startTask = async (start: TaskStart): Promise<boolean> => {
    tried.push(start)
    return !away
  }
  const direct = {
    free: (family: Family) => (family === 'B' ? free : slots),
    take: ({ taskId }: { readonly taskId: string }) => {
      if (free <= 0) return false
      free -= 1
      ran.push(taskId)
      return true
    },
  }
  const step = createStartStep({ pool: world.pool, startTask, direct })
  return {
    run: () => runStep(step),
    tried,
    ran,
    setAway: (value: boolean) => void (away = value),
    freeSlots: (count: number) => void (free += count),
  }
}

describe('the start step', () => {
  it('starts an accepted task whose start was lost, with all fields of its row', async () => {
    const taskId = await dueTask()
    await setTask(world.pool, taskId, { size: `'1024x1024'`, key_digest: `'\\xabcd'` })
    const { run, tried } = starting(1)
    expect(await run()).toEqual([{ found: 'started', count: 1, taskId }])
    expect(tried).toEqual([
      {
        taskId,
        accountId: 'acct_a',
        family: 'B',
        model: 'familyb-image-2-vip',
        action: 'generate',
        size: '1024x1024',
        sync: false,
        keyDigest: 'abcd',
      },
    ])
    expect(await taskRow(world.pool, taskId)).toMatchObject({ started: true, status: 'queued' })
    expect(await run()).toEqual([])
  })

  it('starts everything that is due after an outage of Temporal, batch after batch', async () => {
    for (let count = 0; count < 230; count += 1) await dueTask()
    const { run, tried, ran } = starting(5)
    await run()
    expect(new Set(tried.map(({ taskId }) => taskId)).size).toBe(230)
    expect(ran).toEqual([])
  })

  it('leaves synchronous tasks to the line until a call may have done work', async () => {
    const waiting = await dueTask()
    const goingOn = await dueTask()
    await setTask(world.pool, waiting, { route: `'images.generations'` })
    await setTask(world.pool, goingOn, { route: `'images.generations'`, work_possible: 'true' })
    const { run, tried } = starting(5)
    await run()
    expect(tried.map(({ taskId }) => taskId)).toEqual([goingOn])
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
})
