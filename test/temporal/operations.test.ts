import { randomBytes } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { connectTemporal } from '../../src/temporal/connect.ts'
import {
  ensureNamespace,
  retentionSecondsMin,
  createAttributesKnown,
  missingSearchAttributes,
  registerSearchAttributes,
} from '../../src/temporal/namespace.ts'
import { createKilledRuns } from '../../src/temporal/runs.ts'
import { embeddedStack, stackStartMsMax } from '../support/stack/embeddedStack.ts'
import { openTestWorld, handleOf, testStart } from '../support/temporal/temporalWorld.ts'
import { until } from '../support/timing.ts'

let address: string

beforeAll(async () => {
  address = (await embeddedStack()).temporalAddress
}, stackStartMsMax)

async function retentionOf(temporal: ReturnType<typeof connectTemporal>): Promise<number> {
  const { client, namespace } = temporal
  const { config } = await client.workflowService.describeNamespace({ namespace })
  return config?.workflowExecutionRetentionTtl?.seconds?.toNumber() ?? 0
}

describe('ensureNamespace', () => {
  it('makes a namespace that remembers nine days, then lengthens it and never shortens it', async () => {
    const namespace = `test-${randomBytes(6).toString('hex')}`
    const temporal = connectTemporal({ address, namespace })
    expect(await ensureNamespace(temporal, { retentionSeconds: 60 })).toBe('made')
    expect(await retentionOf(temporal)).toBe(retentionSecondsMin)
    expect(await ensureNamespace(temporal, { retentionSeconds: 60 })).toBe('present')
    expect(await ensureNamespace(temporal, { retentionSeconds: 864_000 })).toBe('lengthened')
    expect(await retentionOf(temporal)).toBe(864_000)
    expect(await ensureNamespace(temporal, { retentionSeconds: 60 })).toBe('present')
    await temporal.close()
  })

  it('registers what a start names, once', async () => {
    const namespace = `test-${randomBytes(6).toString('hex')}`
    const temporal = connectTemporal({ address, namespace })
    await ensureNamespace(temporal, { retentionSeconds: 0 })
    const missing = await missingSearchAttributes(temporal)
    expect(missing).toContain('DarkroomKeyDigest')
    const known = createAttributesKnown(temporal)
    expect(await known()).toBe(false)
    expect(await registerSearchAttributes(temporal)).toEqual(missing)
    expect(await missingSearchAttributes(temporal)).toEqual([])
    expect(await known()).toBe(true)
    expect(await registerSearchAttributes(temporal)).toEqual([])
    await temporal.close()
  })
})

describe('killedRuns', () => {
  it('lists terminated runs by their task and no others', async () => {
    const world = await openTestWorld()
    const killed = testStart()
    const running = testStart()
    await world.startTask(killed)
    await world.startTask(running)
    await handleOf(world, killed.taskId).terminate('an operator')
    const killedRuns = createKilledRuns(world.temporal)
    const runs = await until('the terminated run', async () => {
      const found = await killedRuns()
      return found.length > 0 ? found : undefined
    })
    expect(runs.map(({ taskId }) => taskId)).toEqual([killed.taskId])
    await world.close()
  })

  it('lists nothing while Temporal is away', async () => {
    const temporal = connectTemporal({ address: '127.0.0.1:9', namespace: 'default' })
    expect(await createKilledRuns(temporal)()).toEqual([])
    await temporal.close()
  })
})
