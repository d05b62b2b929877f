import type { Pool } from 'pg'
import { watchPuts } from '../blobs/watchPuts.ts'
import type { Config } from '../config/environment.ts'
import { inheritedEnvironment, required } from '../config/environment.ts'
import type { OperatorSettings } from '../config/operatorSettings.ts'
import { readOperatorSettings } from '../config/operatorSettings.ts'
import { produceTimeoutMs } from '../domain/tasks/taskTerms.ts'
import { channelsFor, isLeftToOthers } from '../domain/upstream/channel.ts'
import { databasesOf, reached } from './databases.ts'
import { openStores } from './stores.ts'
import { openMessages } from '../store/connection/messages.ts'
import { sampleState } from '../store/sampleState.ts'
import { readOtherModels } from '../store/tasks/otherModels.ts'
import { readTaskDetail } from '../store/tasks/readTaskDetail.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { MetricsSources } from '../telemetry/metrics.ts'
import { createMetrics } from '../telemetry/metrics.ts'
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

/**
 * Opens what an API process or a worker needs. Does not wait for Temporal. Throws when a variable is missing or wrong,
 * when PostgreSQL or the blob store cannot be used, when the schema is older than this code, and when the blob store
 * belongs to another database: two processes with different blob stores would not find each other's images.
 * `own.startQueueDepth` feeds a metric of the API process alone.
 */
export async function openApp(
  config: Config,
  log: Logger,
  own: { readonly process: 'api' | 'worker' } & Pick<MetricsSources, 'startQueueDepth'>,
) {
  const isWorker = own.process === 'worker'
  const address = required(config.temporalAddress, 'TEMPORAL_ADDRESS')
  const operatorSettings = readOperatorSettings(
    required(config.operatorFilePath, 'DARKROOM_CONFIG'),
    // Only a worker calls upstream, so only a worker needs the credentials.
    { withKeys: isWorker },
    inheritedEnvironment(),
  )
  const { main, session } = required(databasesOf(config), 'DATABASE_URL')
  const stores = await openStores(config, log, {
    database: main,
    pooled: session !== main,
    applicationName: `darkroom-${own.process}`,
    connectionsMax,
    connectionsMin,
  })
  const { pool, storeId } = stores
  try {
    const messages = await reached(session, () =>
      openMessages({
        databaseUrl: session.url,
        hears: isWorker ? 'task' : 'task_end',
        onError: (error) => log.warn('connection for messages lost', { error }),
      }),
    )
    // Without a collector, the tracing library is not loaded.
    const tracing =
      config.otlpEndpoint === undefined
        ? undefined
        : (await import('../telemetry/tracing.ts')).createTracing({
            process: own.process,
            readTaskDetail: (taskId) => readTaskDetail(pool, taskId),
            onError: (taskId, error) => log.warn('task not traced', { taskId, error }),
          })
    const settings = temporalSettings(
      { address, namespace: config.temporalNamespace },
      inheritedEnvironment(),
    )
    const temporal = connectTemporal(settings)
    const metrics = createMetrics({
      ...own,
      pool: () => ({ total: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),
      takesWrites: () => takesWrites(),
      state: () => sampleState(pool),
      channels: isWorker ? operatorSettings.channels.map(({ name }) => name) : [],
      models: [...operatorSettings.models.keys()],
    })
    const { blobs, takesWrites } = watchPuts(stores.blobs, metrics.putFailed)
    await warnOfModels(log, pool, operatorSettings)
    return {
      config,
      log,
      operatorSettings,
      /** The URL of PostgreSQL for connections whose session must stay. */
      sessionUrl: session.url,
      pool,
      blobs,
      takesWrites,
      storeId,
      messages,
      temporalSettings: settings,
      temporal,
      startTask: createStartTask(temporal, {
        storeId,
        produceTimeoutMs: produceTimeoutMs(
          config.taskDeadlineSeconds * 1000,
          operatorSettings.channels,
        ),
      }),
      metrics,
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
 * Says which models the operator's file names in `prices` alone, which no channel of it lists, and of which it has lost
 * live tasks.
 */
async function warnOfModels(
  log: Logger,
  pool: Pool,
  { models, channels, strayPrices }: OperatorSettings,
): Promise<void> {
  for (const model of strayPrices) log.warn('prices of a model that is not there', { model })
  for (const { id: model, family, retired } of models.values()) {
    if (!retired && isLeftToOthers(model, channelsFor(channels, { family, model }))) {
      log.warn('a model that no channel lists', { model })
    }
  }
  for (const lost of await readOtherModels(pool, [...models.keys()])) {
    log.warn("live tasks of a model that the operator's file does not name", lost)
  }
}
