import { randomBytes } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { connectTemporal } from '../../src/temporal/connect.ts'
import {
  ensureNamespace,
  missingSearchAttributes,
  registerSearchAttributes,
  retentionSecondsMin,
} from '../../src/temporal/namespace.ts'
import { embeddedStack, stackStartMsMax } from '../support/stack/embeddedStack.ts'
import { openCloudLikeTemporal } from '../support/temporal/cloudLikeTemporal.ts'

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

describe('where Temporal lets nobody change namespaces, as Temporal Cloud does', () => {
  it('`migrate` says what is missing and the command for it, and needs nothing that is there', async () => {
    const namespace = `test-${randomBytes(6).toString('hex')}`
    const free = connectTemporal({ address, namespace })
    const bound = connectTemporal({ address: await openCloudLikeTemporal(address), namespace })
    const ensured = (retentionSeconds: number) => ensureNamespace(bound, { retentionSeconds })
    await expect(ensured(60)).rejects.toThrow(
      `tcld namespace create --namespace ${namespace} --retention-days 9 --region REGION`,
    )
    await ensureNamespace(free, { retentionSeconds: 60 })
    expect(await ensured(60)).toBe('present')
    await expect(ensured(864_000)).rejects.toThrow(
      `tcld namespace retention set --namespace ${namespace} --retention-days 10`,
    )
    await expect(registerSearchAttributes(bound)).rejects.toThrow(
      new RegExp(
        `search-attributes add --namespace ${namespace} (--sa Darkroom\\w+=Keyword ?){7}$`,
      ),
    )
    const added = await registerSearchAttributes(free)
    expect(added).toHaveLength(7)
    expect(await missingSearchAttributes(bound)).toEqual([])
    expect(await registerSearchAttributes(bound)).toEqual([])
    await Promise.all([free.close(), bound.close()])
  })
})
