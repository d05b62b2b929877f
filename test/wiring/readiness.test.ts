import { createServer } from 'node:net'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { freePort } from '../support/ports.ts'
import { claimStoreId } from '../../src/store/blobStoreId.ts'
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
    await database.drop()
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

describe('createReadiness', () => {
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
      const { ready, parts } = await look({ pool })
      expect(ready).toBe(false)
      expect(parts).toEqual({ ...allWell, database: 'unreachable', schema: 'unknown' })
      expect(performance.now() - startedAt).toBeLessThan(10_000)
      void pool.end()
    }
  })

  it('is not ready on a schema older than the code', async () => {
    const { rows } = await database.pool.query('delete from schema_migration returning *')
    const looked = await look()
    for (const row of rows) {
      const { version, name, checksum } = row
      const text = 'insert into schema_migration (version, name, checksum) values ($1, $2, $3)'
      await database.pool.query(text, [version, name, checksum])
    }
    expect(looked).toEqual({ ready: false, parts: { ...allWell, schema: 'outdated' } })
    expect(await look()).toEqual({ ready: true, parts: allWell })
  })

  it('is not ready when the blob store is unreachable, silent or belongs to another database', async () => {
    const stores = {
      foreign: async () => 'another-store',
      unreachable: () => Promise.reject(new Error('EIO')),
      silent: () => new Promise<string>(() => {}),
    }
    const partWith = async (storeId: () => Promise<string>) => {
      const { ready, parts } = await look({ blobs: { storeId } })
      expect(ready).toBe(false)
      return parts['blob_store']
    }
    expect(await partWith(stores.foreign)).toBe('foreign')
    expect(await partWith(stores.unreachable)).toBe('unreachable')
    expect(await partWith(stores.silent)).toBe('unreachable')
  })

  it('is ready while Temporal is unreachable or silent, and reports it', async () => {
    const away = await look({ temporal: temporalAt(`127.0.0.1:${await freePort()}`) })
    expect(away).toEqual({
      ready: true,
      parts: { ...allWell, temporal: 'unavailable', search_attributes: 'unknown' },
    })
    const silent = await look({ temporal: temporalAt(`127.0.0.1:${await silentPort()}`) })
    expect(silent.ready).toBe(true)
    expect(silent.parts['temporal']).toBe('deadline_exceeded')
  })

  it('is ready without the namespace or the search attributes, and reports that they are missing', async () => {
    const { address } = world.settings
    const unknown = await look({ temporal: temporalAt(address, 'never-made') })
    expect(unknown).toEqual({
      ready: true,
      parts: { ...allWell, search_attributes: 'missing' },
    })
    const bare = await look({ temporal: temporalAt(address, 'temporal-system') })
    expect(bare.parts['search_attributes']).toBe('missing')
    expect(bare.ready).toBe(true)
  })
})
