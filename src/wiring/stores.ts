import type { Pool } from 'pg'
import { openBlobStore } from '../blobs/openBlobStore.ts'
import type { Config } from '../config.ts'
import type { BlobStore } from '../domain/ports/blobStore.ts'
import { reached } from './databases.ts'
import type { Database } from './databases.ts'
import { explaining } from './explaining.ts'
import { claimStoreId } from '../store/installation.ts'
import type { PoolOptions } from '../store/connection/pool.ts'
import { createPool } from '../store/connection/pool.ts'
import { requireSchema } from '../store/schema/migrate.ts'
import type { Logger } from '../telemetry/logger.ts'

type StoresOptions = Omit<PoolOptions, 'databaseUrl' | 'onConnectionError'> & {
  readonly database: Database
}

/** PostgreSQL and the blob store of one process. */
export type Stores = {
  readonly pool: Pool
  readonly blobs: BlobStore
  readonly close: () => Promise<void>
}

/**
 * Opens PostgreSQL and the blob store. Throws when one cannot be used, when the schema is older than this code, and
 * when the blob store belongs to another database.
 */
export async function openStores(
  config: Config,
  log: Logger,
  { database, ...options }: StoresOptions,
): Promise<Stores> {
  const cannotBeUsed = explaining('BLOB_STORE cannot be used')
  const blobStore = await openBlobStore(config.blobStoreUrl).catch(cannotBeUsed)
  const pool = createPool({
    ...options,
    databaseUrl: database.url,
    onConnectionError: (error) => log.warn('database connection lost', { error }),
  })
  const close = async (): Promise<void> => {
    await pool.end()
    await blobStore.close()
  }
  try {
    const storeId = await blobStore.store.storeId().catch(cannotBeUsed)
    await reached(database, async () => {
      await requireSchema(pool)
      await claimStoreId(pool, storeId)
    })
    return { pool, blobs: blobStore.store, close }
  } catch (error) {
    await close()
    throw error
  }
}
