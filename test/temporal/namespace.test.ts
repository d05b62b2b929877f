import { randomBytes } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { connectTemporal } from '../../src/temporal/connect.ts'
import { ensureNamespace, retentionSecondsMin } from '../../src/temporal/namespace.ts'
import { embeddedStack, stackStartMsMax } from '../support/stack/embeddedStack.ts'

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
  it('creates a namespace with nine days of retention, lengthens it and never shortens it', async () => {
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
})
