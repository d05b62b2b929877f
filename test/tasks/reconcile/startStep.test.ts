import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { StartResult, TaskStart } from '../../../src/domain/ports/taskRuns.ts'
import { createStartStep } from '../../../src/tasks/reconcile/startStep.ts'
import { connectTemporal } from '../../../src/temporal/connect.ts'
import { createStartTask } from '../../../src/temporal/startTask.ts'
import { insertTask } from '../../support/database/insertTask.ts'
import type { ReconcileWorld } from '../../support/database/reconcileWorld.ts'
import {
  openReconcileWorld,
  runStep,
  setTask,
  taskRow,
} from '../../support/database/reconcileWorld.ts'
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

async function dueTask(columns: Readonly<Record<string, string>> = {}): Promise<string> {
  const { taskId } = await insertTask(world.pool)
  await setTask(world.pool, taskId, { ...due, ...columns })
  return taskId
}

describe('the start step', () => {
  it('starts an accepted task whose start was lost, with all fields of its row', async () => {
    const taskId = await dueTask({ size: `'1024x1024'`, key_digest: `'\\xabcd'` })
    const step = createStartStep({ store: world.store, startTask: temporal.startTask })
    expect(await runStep(step)).toEqual([{ found: 'started', count: 1 }])
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

  it('ignores tasks that are not due, started, ended or past their deadline', async () => {
    await dueTask({ next_check_at: `now() + interval '5 seconds'` })
    await dueTask({ started_at: 'now()' })
    await dueTask({ deadline_at: 'now()' })
    const { taskId } = await insertTask(world.pool)
    await world.attempts.cancelTask(taskId, 'asked')
    await setTask(world.pool, taskId, due)
    const asked: TaskStart[] = []
    const startTask = async (start: TaskStart): Promise<StartResult> => {
      asked.push(start)
      return { kind: 'started' }
    }
    await runStep(createStartStep({ store: world.store, startTask }))
    expect(asked).toEqual([])
  })

  it('ends the run at the first failure and tries again later, however many tasks wait', async () => {
    for (let i = 0; i < 40; i += 1) await dueTask()
    const away = connectTemporal({ address: '127.0.0.1:9', namespace: 'default' })
    let tries = 0
    const start = createStartTask({
      temporal: away,
      startTimeoutMs: 1_000,
      produceTimeoutMs: 1_000,
    })
    const startTask = (given: TaskStart) => {
      tries += 1
      return start(given)
    }
    const findings = await runStep(createStartStep({ store: world.store, startTask }))
    expect(tries).toBeLessThanOrEqual(16)
    expect(findings).toEqual([{ found: 'start_failed', count: tries }])
    const { rows } = await world.pool.query<{ later: number }>(
      `select count(*)::int as later from task
       where checks = 1 and next_check_at > now() + interval '1 second'`,
    )
    expect(rows[0]?.later).toBe(tries)
    await away.close()
  })
})
