import type { Pool } from 'pg'
import type { Config } from '../config.ts'
import { inheritedEnvironment, required } from '../config.ts'
import { ConfigError } from '../config/configError.ts'
import type { OperatorSettings } from '../config/operatorSettings.ts'
import { readOperatorSettings } from '../config/operatorSettings.ts'
import type { Price } from '../domain/models/prices.ts'
import { priceList, unpricedCombinations } from '../domain/models/prices.ts'
import { produceTimeoutMs } from '../domain/tasks/taskTerms.ts'
import { databasesOf, reached } from './databases.ts'
import { openStores } from './stores.ts'
import { openMessages } from '../store/connection/messages.ts'
import { sampleState } from '../store/sampleState.ts'
import { readTaskDetail } from '../store/tasks/readTaskDetail.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { MetricsSources } from '../telemetry/metrics.ts'
import { createMetrics } from '../telemetry/metrics.ts'
import type { Tracing } from '../telemetry/tracing.ts'
import { connectTemporal, temporalSettings } from '../temporal/connect.ts'
import { createStartTask } from '../temporal/startTask.ts'

/** What every part of a process may use. Each process has one, and passes it whole. */
export type App = Awaited<ReturnType<typeof openApp>>

const connectionsMax = 24
/**
 * How many idle connections to PostgreSQL stay open. Enough for a usual burst of requests or upstream calls, so that
 * these do not wait until a new connection is open.
 */
const connectionsMin = 8
/** Limit for the start of one workflow. If it takes longer, the reconciler tries again. */
const startTimeoutMs = 3_000

/**
 * Opens what one process needs. Throws when a variable is missing, when a request that clients may send has no price,
 * when PostgreSQL or the blob store cannot be used, when the schema is older than this code, and when the blob store
 * belongs to another database: two processes with different blob stores would not find each other's images. Does not
 * wait for Temporal. `startQueueDepth` is what only the API process can measure.
 */
export async function openApp(
  config: Config,
  log: Logger,
  own: { readonly process: 'api' | 'worker' } & Pick<MetricsSources, 'startQueueDepth'>,
) {
  const isWorker = own.process === 'worker'
  const address = required(config.temporalAddress, 'TEMPORAL_ADDRESS')
  // Only a worker calls upstream, so only a worker needs the credentials.
  const operatorSettings = pricedSettings(config, { withKeys: isWorker })
  const { main, session } = required(databasesOf(config), 'DATABASE_URL')
  const stores = await openStores(config, log, {
    database: main,
    pooled: session !== main,
    applicationName: `darkroom-${own.process}`,
    connectionsMax,
    connectionsMin,
  })
  const { pool, blobs } = stores
  try {
    const messages = await reached(session, () =>
      openMessages({
        databaseUrl: session.url,
        hears: isWorker ? 'sync_task' : 'task_end',
        onError: (error) => log.warn('connection for messages lost', { error }),
      }),
    )
    const tracing = await openTracing(config, { process: own.process, pool, log })
    const settings = temporalSettings({ address, namespace: config.temporalNamespace })
    const temporal = connectTemporal(settings)
    return {
      config,
      log,
      operatorSettings,
      /** The URL of PostgreSQL for connections whose session must stay. */
      sessionUrl: session.url,
      pool,
      blobs,
      messages,
      temporalSettings: settings,
      temporal,
      startTask: createStartTask({
        temporal,
        startTimeoutMs,
        produceTimeoutMs: produceTimeoutMs(
          config.taskDeadlineSeconds * 1000,
          operatorSettings.channels,
        ),
      }),
      metrics: createMetrics({
        ...own,
        pool: () => ({ total: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),
        state: () => sampleState(pool),
        channels: isWorker ? operatorSettings.channels.map(({ name }) => name) : [],
      }),
      /** Reports an ended task to the processes that wait for it, and its trace. Never throws and never waits. */
      announceEnd: (taskId: string): void => {
        messages.announceEnd(taskId)
        tracing?.taskEnded(taskId)
      },
      /** Closes everything. Traces come first, because they are read from PostgreSQL. */
      close: async (): Promise<void> => {
        await temporal.close()
        await tracing?.close()
        await messages.close()
        await stores.close()
      },
    }
  } catch (error) {
    await stores.close()
    throw error
  }
}

/**
 * Opens tracing. Returns `undefined` when no collector is configured, and then does not load the tracing
 * library.
 */
async function openTracing(
  { otlpEndpoint }: Pick<Config, 'otlpEndpoint'>,
  parts: { readonly process: 'api' | 'worker'; readonly pool: Pool; readonly log: Logger },
): Promise<Tracing | undefined> {
  if (otlpEndpoint === undefined) return undefined
  const { createTracing } = await import('../telemetry/tracing.ts')
  return createTracing({
    process: parts.process,
    readTaskDetail: (taskId) => readTaskDetail(parts.pool, taskId),
    onError: (taskId, error) => parts.log.warn('task not traced', { taskId, error }),
  })
}

/**
 * Reads the operator's file and adds the built-in prices. Throws `ConfigError` when a request that clients
 * may send has no price. `withKeys`: whether to read the upstreams' API keys.
 */
export function pricedSettings(
  config: Config,
  options: { readonly withKeys: boolean },
): OperatorSettings & { readonly priceList: readonly Price[] } {
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
