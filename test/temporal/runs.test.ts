import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { connectTemporal } from '../../src/temporal/connect.ts'
import { listTerminatedRuns, reportRun } from '../../src/temporal/runs.ts'
import {
  useScriptedWorld,
  openTestWorld,
  createScripts,
  handleOf,
  testStart,
} from '../support/temporal/temporalWorld.ts'
import { until } from '../support/timing.ts'

const scripts = createScripts()
const world = useScriptedWorld(scripts)

describe('reportRun', () => {
  it('distinguishes running, terminated and missing runs', async () => {
    const start = scripts.add({ produce: [() => sleep(5_000, { kind: 'over' as const })] })
    await world.startTask(start)
    expect(await reportRun(world.temporal, start.taskId)).toBe('running')
    await handleOf(world, start.taskId).terminate('an operator')
    expect(await reportRun(world.temporal, start.taskId)).toBe('terminated')
    expect(await reportRun(world.temporal, testStart().taskId)).toBe('missing')
  })

  it('returns `unreachable` while Temporal is unreachable', async () => {
    const temporal = connectTemporal({ address: '127.0.0.1:9', namespace: 'default' })
    expect(await reportRun(temporal, 'task_1')).toBe('unreachable')
    await temporal.close()
  })
})

describe('listTerminatedRuns', () => {
  it('lists terminated runs by task and no others', async () => {
    const quiet = await openTestWorld()
    const terminated = testStart()
    const running = testStart()
    await quiet.startTask(terminated)
    await quiet.startTask(running)
    await handleOf(quiet, terminated.taskId).terminate('an operator')
    const runs = await until('the terminated run', async () => {
      const found = await listTerminatedRuns(quiet.temporal)
      return found.length > 0 ? found : undefined
    })
    expect(runs.map(({ taskId }) => taskId)).toEqual([terminated.taskId])
    await quiet.close()
  })

  it('lists nothing while Temporal is unreachable', async () => {
    const temporal = connectTemporal({ address: '127.0.0.1:9', namespace: 'default' })
    expect(await listTerminatedRuns(temporal)).toEqual([])
    await temporal.close()
  })
})
