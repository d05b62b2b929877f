import type { Pool } from 'pg'
import { openBlobStore } from '../blobs/openBlobStore.ts'
import type { Config } from '../config/environment.ts'
import { ConfigError } from '../config/configError.ts'
import type { BlobStore } from '../domain/ports/blobStore.ts'
import { withTimeout } from '../domain/withTimeout.ts'
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

const unusable = 'BLOB_STORE cannot be used'

/** Limit for opening the blob store. A folder in a mount that hangs, or in `/proc`, is never made. */
const openMsMax = 10_000

/** PostgreSQL and the blob store of one process. */
export type Stores = {
  readonly pool: Pool
  readonly blobs: BlobStore
  /** The id of the blob store, which belongs to this database alone. */
  readonly storeId: string
  readonly close: () => Promise<void>
}

/**
 * Opens PostgreSQL and the blob store. Throws when one of them cannot be used, when the schema is older than this code,
 * and when the blob store belongs to another database. Throws `ConfigError` when the folder or bucket of the blob store
 * cannot be made or found in time.
 */
export async function openStores(
  config: Config,
  log: Logger,
  { database, ...options }: StoresOptions,
): Promise<Stores> {
  const { store, storeId, close: closeBlobs } = await openBlobs(config)
  const pool = createPool({
    ...options,
    databaseUrl: database.url,
    onConnectionError: (error) => log.warn('database connection lost', { error }),
  })
  const close = async (): Promise<void> => {
    await pool.end()
    await closeBlobs()
  }
  try {
    await reached(database, async () => {
      await requireSchema(pool)
      await claimStoreId(pool, storeId)
    })
    return { pool, blobs: store, storeId, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** Opens the blob store and reads its id. Throws when it cannot be used, as `openStores` does. */
export async function openBlobs({ blobStoreUrl }: Pick<Config, 'blobStoreUrl'>) {
  const open = () => openBlobStore(blobStoreUrl)
  const opened = await withTimeout(openMsMax, open).catch(explaining(unusable, ConfigError))
  try {
    return { ...opened, storeId: await opened.store.storeId().catch(explaining(unusable)) }
  } catch (error) {
    await opened.close()
    throw error
  }
}
