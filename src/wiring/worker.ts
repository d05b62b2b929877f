import type { Config } from '../config.ts'
import { required } from '../config.ts'
import { createInternalServer } from '../http/internalServer.ts'
import { ensureChannels } from '../store/ensureChannels.ts'
import type { Logger } from '../telemetry/logger.ts'
import { connectTemporal } from '../temporal/connect.ts'
import { temporalSettings } from '../temporal/settings.ts'
import type { RunningWorker } from '../temporal/worker/createWorker.ts'
import { installMeasuredRuntime } from '../temporal/worker/sdkMetrics.ts'
import { createExecution } from './execution.ts'
import { explaining } from './explaining.ts'
import { openInstallation } from './installation.ts'
import { createProcessMetrics } from './processMetrics.ts'
import { createReadiness, withPart } from './readiness.ts'
import { createWorkerReconciler } from './reconciler.ts'
import type { RunningProcess } from './runProcess.ts'
import { produceTimeoutMs } from './temporalLimits.ts'
import { sdkLog, startTemporalWorker } from './temporalWorker.ts'
import { openTracing } from './tracing.ts'

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
    produceTimeoutMs: produceTimeoutMs(config, channels),
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
