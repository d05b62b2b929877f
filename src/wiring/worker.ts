import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createActivities } from '../../activities/createActivities.ts'
import type { Config } from '../config.ts'
import { required } from '../config.ts'
import type { Channel } from '../domain/channel.ts'
import type { TaskTracer } from '../domain/ports/taskTracer.ts'
import { createInternalServer } from '../http/internalServer.ts'
import { ensureChannels } from '../store/channels/channelAdmin.ts'
import { createIsCancelled } from '../store/tasks/endTask.ts'
import { createSettleOrFail } from '../tasks/settleOrFail.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { TemporalSettings } from '../temporal/connect.ts'
import { connectTemporal, temporalSettings } from '../temporal/connect.ts'
import type { RunningWorker } from '../temporal/worker/createWorker.ts'
import { createWorker } from '../temporal/worker/createWorker.ts'
import { createRetryingWorker } from '../temporal/worker/retryingWorker.ts'
import type { WorkerLog } from '../temporal/worker/runtime.ts'
import { installMeasuredRuntime, loggerOf } from '../temporal/worker/runtime.ts'
import { workflowBundle } from '../temporal/worker/workflowBundle.ts'
import type { Execution } from './execution.ts'
import { createExecution } from './execution.ts'
import type { Installation } from './installation.ts'
import { explaining, openInstallation } from './installation.ts'
import { createProcessMetrics, openTracing } from './observability.ts'
import { createReadiness, withPart } from './readiness.ts'
import { createWorkerReconciler } from './reconciler.ts'
import type { RunningProcess } from './runProcess.ts'
import { channelsOf, longestTimeoutMs, produceTimeoutMs } from '../domain/deadlines.ts'

const connectionsMax = 24
/** Enough for a burst of calls at once: it pays for no connection. */
const connectionsMin = 8

/** One worker process: polls Temporal, calls upstream models, takes part in reconciling. */
export async function startWorker(config: Config, log: Logger): Promise<RunningProcess> {
  const address = required(config.temporalAddress, 'TEMPORAL_ADDRESS')
  const installation = await openInstallation(config, log, {
    process: 'worker',
    connectionsMax,
    connectionsMin,
    withKeys: true,
  })
  const { operation, pool, blobs, databaseUrl } = installation
  const { channels } = operation
  const names = channels.map(({ name }) => name)
  await ensureChannels(pool, names)
  const sdkMetrics = await installMeasuredRuntime(sdkLog(log))
  const metrics = createProcessMetrics(pool, { foreign: sdkMetrics, channels: names })
  const tracer = await openTracing(config, 'worker')
  const execution = createExecution(config, { installation, log, metrics, tracer })
  const settings = temporalSettings({ address, namespace: config.temporalNamespace })
  const temporal = connectTemporal(settings)
  const reconciler = createWorkerReconciler({
    databaseUrl,
    pool,
    blobs,
    attempts: execution.attempts,
    produceImage: execution.produceImage,
    temporal,
    produceTimeoutMs: produceTimeoutMs(config.taskDeadlineSeconds * 1000, channels),
    log,
    onFinding: metrics.finding,
  })
  const look = createReadiness({ pool, blobs, temporal })
  let worker: RunningWorker | undefined
  // Before any task is taken: a port in use ends the process, and must not cost a paid call each time.
  const { internalHost: host, workerInternalPort: port } = config
  const readiness = async () =>
    withPart(await look(), 'polling', worker?.isRunning() === true ? 'ok' : 'stopped')
  const internal = await createInternalServer({ host, port, metrics, readiness }).catch(
    explaining(`INTERNAL_HOST ${host}, WORKER_INTERNAL_PORT ${port}`),
  )
  // Before the worker: it needs PostgreSQL alone, and works while Temporal is away.
  reconciler.start()
  const stopping = new AbortController()
  const parts = { settings, installation, execution, log, tracer, stopping: stopping.signal }
  const running = await startTemporalWorker(config, parts)
  worker = running
  log.info('worker ready', { port: internal.port })
  return {
    ended: running.done,
    stop: async () => {
      stopping.abort()
      await Promise.all([running.stop(), reconciler.stop()])
      await internal.close()
      await temporal.close()
      await execution.close()
      await installation.close()
      await tracer?.close()
    },
  }
}

/** Storing and settling after the last byte of an answer, before a stopping worker gives up. */
const settleGraceMs = 30_000

/** Polls Temporal for workflows and activities. Retries while Temporal cannot be reached at the start. */
async function startTemporalWorker(
  config: Config,
  parts: {
    readonly settings: TemporalSettings
    readonly installation: Installation
    readonly execution: Execution
    readonly log: Logger
    readonly tracer: TaskTracer | undefined
    readonly stopping: AbortSignal
  },
): Promise<RunningWorker> {
  const { settings, installation, execution, log, tracer, stopping } = parts
  const { attempts, produceImage } = execution
  const { pool, blobs, operation } = installation
  const { channels } = operation
  const activities = createActivities({
    produceImage,
    settleOrFail: createSettleOrFail({ attempts, blobs }),
    cancelTask: attempts.cancelTask,
    isCancelled: createIsCancelled({ pool }),
    onUnexpected: ({ activity, taskId, error }) =>
      log.error('activity failed unexpectedly', { step: activity, taskId, error }),
    stopping,
  })
  const bundle = await workflowBundle({
    ...bundleCache(config),
    logger: loggerOf(sdkLog(log)),
    traced: tracer !== undefined,
  })
  const slots = {
    A: slotsOf(channelsOf(channels, 'A')),
    B: slotsOf(channelsOf(channels, 'B')),
  }
  const traced = tracer === undefined ? {} : { tracer }
  const shutdownGraceMs = longestTimeoutMs(channels) + settleGraceMs
  return createRetryingWorker(
    () => createWorker({ settings, activities, bundle, slots, shutdownGraceMs, ...traced }),
    (error) => log.warn('Temporal is away', { error }),
  )
}

/** The SDK tells each change of its state at `info`; for us that is detail. */
function sdkLog(log: Logger) {
  const told: WorkerLog = (level, event, run) =>
    log[level === 'info' ? 'debug' : level](`temporal: ${event}`, run)
  return told
}

function slotsOf(channels: readonly Channel[]): number {
  return channels.reduce((sum, { concurrencyMax }) => sum + concurrencyMax, 0)
}

function bundleCache(config: Config): { readonly cacheDir?: string } {
  return existsSync(config.dataDir) ? { cacheDir: join(config.dataDir, 'cache') } : {}
}
