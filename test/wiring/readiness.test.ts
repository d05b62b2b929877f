import { createServer } from 'node:net'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { freePort } from '../support/ports.ts'
import { claimStoreId } from '../../src/store/installation.ts'
import { createPool } from '../../src/store/connection/pool.ts'
import type { Temporal } from '../../src/temporal/connect.ts'
import { connectTemporal } from '../../src/temporal/connect.ts'
import type { ReadinessDeps } from '../../src/wiring/readiness.ts'
import { createReadiness } from '../../src/wiring/readiness.ts'
import type { TestDatabase } from '../support/database/testDatabase.ts'
import { createTestDatabase } from '../support/database/testDatabase.ts'
import { stackStartMsMax } from '../support/stack/embeddedStack.ts'
import type { TemporalWorld } from '../support/temporal/temporalWorld.ts'
import { openTestWorld } from '../support/temporal/temporalWorld.ts'

let database: TestDatabase
let world: TemporalWorld
const blobs = { storeId: async () => 'the-store' }

beforeAll(async () => {
  ;[database, world] = await Promise.all([createTestDatabase(), openTestWorld()])
  await claimStoreId(database.pool, 'the-store')
  return async () => {
    await world.close()
    await database.close()
  }
}, stackStartMsMax)

const look = (other: Partial<ReadinessDeps> = {}) =>
  createReadiness({ pool: database.pool, blobs, temporal: world.temporal, ...other })()

const allWell = {
  database: 'ok',
  schema: 'ok',
  blob_store: 'ok',
  temporal: 'ok',
  search_attributes: 'ok',
}

function temporalAt(address: string, namespace = 'default'): Temporal {
  const temporal = connectTemporal({ address, namespace })
  onTestFinished(() => temporal.close())
  return temporal
}

/** A port that accepts connections and never answers. */
async function silentPort(): Promise<number> {
  const port = await freePort()
  const server = createServer(() => {}).listen(port, '127.0.0.1')
  onTestFinished(() => void server.close())
  return port
}

describe('a process', () => {
  it('is not ready when PostgreSQL is unreachable or silent, and answers in time', async () => {
    for (const port of [await freePort(), await silentPort()]) {
      const pool = createPool({
        databaseUrl: `postgres://nobody:nothing@127.0.0.1:${port}/none`,
        applicationName: 'test-readiness',
        connectionsMax: 1,
        onConnectionError: () => {},
        connectTimeoutMs: 30_000,
      })
      const startedAt = performance.now()
      const parts = { ...allWell, database: 'unreachable', schema: 'unknown' }
      expect(await look({ pool })).toEqual({ ready: false, parts })
      expect(performance.now() - startedAt).toBeLessThan(10_000)
      void pool.end()
    }
  })

  it('is not ready on a schema older than the code', async () => {
    await database.pool.query(
      'create table newer as select * from schema_migration; delete from schema_migration',
    )
    const looked = await look()
    await database.pool.query('insert into schema_migration select * from newer')
    expect(looked).toEqual({ ready: false, parts: { ...allWell, schema: 'outdated' } })
    expect(await look()).toEqual({ ready: true, parts: allWell })
  })

  it.each([
    ['foreign', async () => 'another-store'],
    ['unreachable', () => Promise.reject(new Error('EIO'))],
    ['unreachable', () => new Promise<string>(() => {})],
  ])('is not ready when the blob store is %s', async (state, storeId) => {
    const parts = { ...allWell, blob_store: state }
    expect(await look({ blobs: { storeId } })).toEqual({ ready: false, parts })
  })

  it('is not ready while the blob store takes no images', async () => {
    const parts = { ...allWell, blob_store: 'read_only' }
    expect(await look({ takesWrites: async () => false })).toEqual({ ready: false, parts })
    expect(await look({ takesWrites: async () => true })).toEqual({ ready: true, parts: allWell })
  })

  it('is ready without Temporal, its namespace and its search attributes, and reports what is missing', async () => {
    const { address } = world.settings
    const partsOf = async (...at: Parameters<typeof temporalAt>) => {
      const { ready, parts } = await look({ temporal: temporalAt(...at) })
      expect(ready).toBe(true)
      return [parts['temporal'], parts['search_attributes']]
    }
    expect(await partsOf(`127.0.0.1:${await freePort()}`)).toEqual(['unavailable', 'unknown'])
    expect(await partsOf(`127.0.0.1:${await silentPort()}`)).toEqual([
      'deadline_exceeded',
      'unknown',
    ])
    expect(await partsOf(address, 'never-made')).toEqual(['ok', 'missing'])
    expect(await partsOf(address, 'temporal-system')).toEqual(['ok', 'missing'])
  })
})
