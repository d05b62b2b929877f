import { randomBytes } from 'node:crypto'
import { tmpdir } from 'node:os'
import type { Pool } from 'pg'
import type { OpenBlobStore } from '../blobs/openBlobStore.ts'
import { openBlobStore } from '../blobs/openBlobStore.ts'
import type { Config } from '../config.ts'
import { inheritedEnvironment, required } from '../config.ts'
import { ConfigError } from '../config/configError.ts'
import type { OperatorSettings } from '../config/operatorSettings.ts'
import { readOperatorSettings } from '../config/operatorSettings.ts'
import type { Price } from '../domain/models/prices.ts'
import { priceList, unpricedCombinations } from '../domain/models/prices.ts'
import { databasesOf, reached } from './databases.ts'
import { explaining } from './explaining.ts'
import { openTracing } from './processTelemetry.ts'
import { makeProcessTempFolder } from './processTempFolder.ts'
import { claimStoreId } from '../store/blobStoreId.ts'
import type { Messages } from '../store/connection/messages.ts'
import { openMessages } from '../store/connection/messages.ts'
import { createPool, openConnections } from '../store/connection/pool.ts'
import { requireSchema } from '../store/schema/migrate.ts'
import type { Logger } from '../telemetry/logger.ts'

/**
 * The parts that the API process and the worker share. `openInstallation` checks that they fit together:
 * every request that clients may send has a price, the schema is as new as this code, and the blob store
 * belongs to this database.
 */
export type Installation = {
  readonly operatorSettings: OperatorSettings & { readonly priceList: readonly Price[] }
  /** The URL of PostgreSQL for connections whose session must stay, such as for LISTEN and locks. */
  readonly sessionUrl: string
  readonly pool: Pool
  readonly blobs: OpenBlobStore['store']
  readonly messages: Messages
  /** Reports an ended task to the processes that wait for it, and its trace. */
  readonly announceEnd: Messages['announceEnd']
  /**
   * Folder for uploads and answers before they are in the blob store. Only this process uses it. `close`
   * deletes it.
   */
  readonly tempDir: string
  readonly close: () => Promise<void>
}

type InstallationOptions = {
  readonly process: 'api' | 'worker'
  readonly connectionsMax: number
  /** How many connections are opened before the process is ready, and stay open. */
  readonly connectionsMin: number
  /** Whether to read the upstreams' API keys. Only the worker needs them. */
  readonly withKeys: boolean
}

/**
 * Opens the shared parts of one process. Throws when a variable is missing, when a request that clients may
 * send has no price, when PostgreSQL or the blob store cannot be used, when the schema is older than this code, and
 * when the blob store belongs to another database.
 * Two processes with different blob stores would not find each other's images.
 */
export async function openInstallation(
  config: Config,
  log: Logger,
  options: InstallationOptions,
): Promise<Installation> {
  const operatorSettings = pricedSettings(config, options)
  const { main, session } = required(databasesOf(config), 'DATABASE_URL')
  const temp = await makeProcessTempFolder(tmpdir())
  const opened = await openBlobStore(config.blobStoreUrl, randomBytes)
  const pool = createPool({
    databaseUrl: main.url,
    pooled: session !== main,
    applicationName: `darkroom-${options.process}`,
    connectionsMax: options.connectionsMax,
    connectionsMin: options.connectionsMin,
    onConnectionError: (error) => log.warn('database connection lost', { error }),
  })
  const tracing = await openTracing(config, { process: options.process, pool, log })
  let messages: Messages | undefined
  const close = async () => {
    await tracing?.close()
    await messages?.close()
    await pool.end()
    await opened.close()
    await temp.remove()
  }
  try {
    const storeId = await opened.store.storeId().catch(explaining('BLOB_STORE cannot be used'))
    await reached(main, async () => {
      await requireSchema(pool)
      await openConnections(pool, options.connectionsMin)
      await claimStoreId(pool, storeId)
    })
    const heard = await reached(session, () =>
      openMessages({
        databaseUrl: session.url,
        hears: options.process === 'api' ? 'task_end' : 'sync_task',
        onError: (error) => log.warn('connection for messages lost', { error }),
      }),
    )
    messages = heard
    return {
      operatorSettings,
      sessionUrl: session.url,
      pool,
      blobs: opened.store,
      messages,
      announceEnd: (taskId) => {
        heard.announceEnd(taskId)
        tracing?.taskEnded(taskId)
      },
      tempDir: temp.path,
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

/**
 * Reads the operator's file and adds the built-in prices. Throws `ConfigError` when a request that clients
 * may send has no price.
 */
export function pricedSettings(
  config: Config,
  options: Pick<InstallationOptions, 'withKeys'>,
): Installation['operatorSettings'] {
  const path = required(config.operatorFilePath, 'DARKROOM_CONFIG')
  const settings = readOperatorSettings(path, options, inheritedEnvironment())
  const prices = priceList(settings.prices)
  const unpriced = unpricedCombinations(prices, settings.capabilities)
  if (unpriced.length > 0) {
    throw new ConfigError(
      `DARKROOM_CONFIG: ${path}: prices: none for ${unpriced.slice(0, 5).join('; ')}`,
    )
  }
  return { ...settings, priceList: prices }
}
