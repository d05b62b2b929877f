import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { connectTemporal } from '../../src/temporal/connect.ts'
import { reportRun } from '../../src/temporal/runs.ts'
import {
  useScriptedWorld,
  createScripts,
  handleOf,
  testStart,
} from '../support/temporal/temporalWorld.ts'

const scripts = createScripts()
const world = useScriptedWorld(scripts)

describe('reportRun', () => {
  it('distinguishes running, terminated and missing runs', async () => {
    const start = scripts.add({ produce: [() => sleep(5_000, { kind: 'over' as const })] })
    await world.startTask(start)
    expect(await reportRun(world.temporal, start.taskId)).toBe('running')
    await handleOf(world, start.taskId).terminate('an operator')
    expect(await reportRun(world.temporal, start.taskId)).toBe('stopped')
    expect(await reportRun(world.temporal, testStart().taskId)).toBe('missing')
  })

  it('returns `unreachable` while Temporal is unreachable', async () => {
    const temporal = connectTemporal({ address: '127.0.0.1:9', namespace: 'default' })
    expect(await reportRun(temporal, 'task_1')).toBe('unreachable')
    await temporal.close()
  })
})
