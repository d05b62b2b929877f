import { once } from 'node:events'
import { createServer } from 'node:net'
import { beforeAll, describe, expect, it } from 'vitest'
import { connectTemporal } from '../../src/temporal/connect.ts'
import { reportRun } from '../../src/temporal/runs.ts'
import { createStartTask } from '../../src/temporal/startTask.ts'
import { stackStartMsMax } from '../support/stack/embeddedStack.ts'
import type { TemporalWorld } from '../support/temporal/temporalWorld.ts'
import { openTestWorld, handleOf, testStart } from '../support/temporal/temporalWorld.ts'

let world: TemporalWorld

beforeAll(async () => {
  world = await openTestWorld()
  return () => world.close()
}, stackStartMsMax)

describe('startTask', () => {
  it('starts the workflow of a task once, however often it is called', async () => {
    const start = testStart()
    expect(await world.startTask(start)).toBe(true)
    const { runId } = await handleOf(world, start.taskId).describe()
    expect(await world.startTask(start)).toBe(true)
    expect((await handleOf(world, start.taskId).describe()).runId).toBe(runId)
  })

  it('starts no second run when the first run is closed', async () => {
    const start = testStart()
    await world.startTask(start)
    await handleOf(world, start.taskId).terminate('an operator')
    expect(await world.startTask(start)).toBe(true)
    expect((await handleOf(world, start.taskId).describe()).status.name).toBe('TERMINATED')
  })

  it('passes on task, key digest and priority, and nothing else of the request', async () => {
    const start = { ...testStart(), keyDigest: 'ab'.repeat(32), sync: true }
    await world.startTask(start)
    const handle = handleOf(world, start.taskId)
    const described = await handle.describe()
    expect(described.priority).toMatchObject({ priorityKey: 2, fairnessKey: 'acct_test' })
    expect(described.searchAttributes).toMatchObject({ DarkroomKeyDigest: [start.keyDigest] })
    expect(await described.staticSummary()).toBe('familyb-image-2-vip · generate · 1024x1024')
    const { events } = await handle.fetchHistory()
    const input = events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads?.[0]?.data
    expect(JSON.parse(Buffer.from(input ?? []).toString())).toEqual({
      taskId: start.taskId,
      family: 'B',
      model: 'familyb-image-2-vip',
      produceTimeoutMs: 600_000,
    })
  })

  it('gives asynchronous tasks the default priority', async () => {
    const start = testStart()
    await world.startTask(start)
    const described = await handleOf(world, start.taskId).describe()
    expect(described.priority).toMatchObject({ priorityKey: 3 })
  })

  it('fails within its deadline when the server does not answer', async () => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const address = silent.address()
    const port = typeof address === 'object' ? address?.port : undefined
    const temporal = connectTemporal({ address: `127.0.0.1:${port}`, namespace: 'default' })
    const startTask = createStartTask({ temporal, startTimeoutMs: 300, produceTimeoutMs: 1_000 })
    const startedAtMs = performance.now()
    expect(await startTask(testStart())).toBe(false)
    expect(performance.now() - startedAtMs).toBeLessThan(1_500)
    await temporal.close()
    silent.close()
  })

  it('fails, like all other calls, when the namespace does not exist', async () => {
    const { address } = world.settings
    const temporal = connectTemporal({ address, namespace: 'lost' })
    const startTask = createStartTask({ temporal, startTimeoutMs: 2_000, produceTimeoutMs: 1_000 })
    const start = testStart()
    expect(await startTask(start)).toBe(false)
    expect(await reportRun(temporal, start.taskId)).toBe('unreachable')
    await temporal.close()
  })
})
