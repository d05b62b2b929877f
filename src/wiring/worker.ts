import type { ReportUnexpected } from '../../activities/applicationFailure.ts'
import { createActivities } from '../../activities/createActivities.ts'
import type { Config } from '../config.ts'
import { required } from '../config.ts'
import { produceTimeoutMs } from '../domain/tasks/taskTerms.ts'
import { longestTimeoutMs, slotsOf } from '../domain/upstream/channel.ts'
import type { Execution } from './execution.ts'
import { createExecution } from './execution.ts'
import { createInternalServer } from '../http/internalServer.ts'
import { explaining } from './explaining.ts'
import type { Installation } from './installation.ts'
import { openInstallation } from './installation.ts'
import { createProcessMetrics } from './processTelemetry.ts'
import { createReadiness, withPart } from './readiness.ts'
import { createWorkerReconciler } from './reconciler.ts'
import type { RunningProcess } from './runProcess.ts'
import { ensureChannels } from '../store/channels/channelAdmin.ts'
import type { Logger } from '../telemetry/logger.ts'
import { otherOpenFiles, warnOfOpenFiles } from '../telemetry/openFiles.ts'
import type { TemporalSettings } from '../temporal/connect.ts'
import { connectTemporal, temporalSettings } from '../temporal/connect.ts'
import type { RunningWorker } from '../temporal/worker/createWorker.ts'
import { createStartTask } from '../temporal/startTask.ts'
import { createWorker } from '../temporal/worker/createWorker.ts'
import { createRetryingWorker } from '../temporal/worker/retryingWorker.ts'
import { installRuntime } from '../temporal/worker/runtime.ts'
import type { WorkflowBundle } from '../temporal/worker/workflowBundle.ts'
import { workflowBundle } from '../temporal/worker/workflowBundle.ts'
import { createWorkerWebhooks } from './webhooks.ts'

const connectionsMax = 24
/**
 * How many connections to PostgreSQL are opened at the start and stay open. Enough for a usual burst of upstream
 * calls, so that these calls do not wait until a new connection is open.
 */
const connectionsMin = 8

/**
 * Starts one worker process. The worker polls Temporal, calls upstream models, and reconciles.
 */
export async function startWorker(config: Config, log: Logger): Promise<RunningProcess> {
  const address = required(config.temporalAddress, 'TEMPORAL_ADDRESS')
  const installation = await openInstallation(config, log, {
    process: 'worker',
    connectionsMax,
    connectionsMin,
    withKeys: true,
  })
  const { operatorSettings, pool, blobs } = installation
  const { channels } = operatorSettings
  const names = channels.map(({ name }) => name)
  await ensureChannels(pool, names)
  installRuntime(
    (level, event, run) => log[level](`temporal: ${event}`, run),
    config.temporalMetricsAddress,
  )
  const metrics = createProcessMetrics(pool, {
    channels: names,
  })
  const settings = temporalSettings({ address, namespace: config.temporalNamespace })
  const temporal = connectTemporal(settings)
  const webhooks = await createWorkerWebhooks(config, { pool, log, metrics })
  const announceEnd = (taskId: string) => {
    installation.announceEnd(taskId)
    webhooks.wake()
  }
  const stopping = new AbortController()
  const execution = createExecution(config, {
    installation: { ...installation, announceEnd },
    log,
    metrics,
    stopping: stopping.signal,
  })
  const reconciler = createWorkerReconciler({
    pool,
    blobs,
    execution,
    startTask: createStartTask({
      temporal,
      startTimeoutMs,
      produceTimeoutMs: produceTimeoutMs(config.taskDeadlineSeconds * 1000, channels),
    }),
    temporal,
    log,
    onFinding: metrics.finding,
  })
  const look = createReadiness({ pool, blobs, temporal })
  let worker: RunningWorker | undefined
  // Open this port before the worker takes a task. If the port is in use, the process ends, and is usually started
  // again, many times. If it took a task before it ended, each of these starts could lose a call that is paid for.
  const { internalHost: host, workerInternalPort: port } = config
  const readiness = async () => {
    const state = worker === undefined ? 'starting' : stopping.signal.aborted ? 'stopping' : 'ok'
    const { ready, parts } = withPart(await look(), 'process', state)
    const polling = worker?.isRunning() === true ? 'ok' : 'stopped'
    return { ready, parts: { ...parts, polling } }
  }
  const internal = await createInternalServer({ host, port, metrics, readiness }).catch(
    explaining(`INTERNAL_HOST ${host}, WORKER_INTERNAL_PORT ${port}`),
  )
  const bundle = await workflowBundle()
  // The row of this process must exist before its first call. If a signal to stop arrives before `startWorker` has
  // returned, the process waits at most ten seconds for that and then exits, whatever is under way (`runProcess.ts`).
  // So nothing after this line may take long.
  await execution.beats.start()
  execution.listen()
  // The reconciler works without Temporal too: it ends tasks and releases their holds. `createTemporalWorker` below
  // does not wait for Temporal either: it connects in the background.
  reconciler.start()
  webhooks.start()
  const parts = {
    settings,
    installation,
    execution,
    log,
    stopping: stopping.signal,
    bundle,
  }
  const running = createTemporalWorker(parts)
  worker = running
  // A call has its connection, the file of a large answer, and a file or a connection of the blob store.
  const calls = channels.reduce((sum, { concurrencyMax }) => sum + concurrencyMax, 0)
  warnOfOpenFiles(log, 3 * calls + otherOpenFiles)
  log.info('worker ready', { port: internal.port })
  return {
    ended: running.done,
    stop: async () => {
      stopping.abort()
      // Wait for every part, even if Temporal's part fails, because other calls may still be under way.
      const parts = [running.stop(), reconciler.stop(), execution.direct.idle()]
      const stopped = await Promise.allSettled(parts)
      await execution.beats.stop()
      await webhooks.stop()
      await internal.close()
      await temporal.close()
      await execution.close()
      await installation.close()
      for (const part of stopped) if (part.status === 'rejected') throw part.reason
    },
  }
}

/** Limit for the reconciler's start of one workflow. */
const startTimeoutMs = 5_000

/** Time for a stopping worker to store and settle an answer after the answer's last byte has arrived. */
const settleGraceMs = 30_000

/** Polls Temporal for workflows and activities. Tries again while Temporal is unavailable. */
function createTemporalWorker(parts: {
  readonly settings: TemporalSettings
  readonly installation: Installation
  readonly execution: Execution
  readonly log: Logger
  readonly stopping: AbortSignal
  readonly bundle: WorkflowBundle
}): RunningWorker {
  const { settings, installation, execution, log, stopping, bundle } = parts
  const { attempts, produceImage } = execution
  const { channels } = installation.operatorSettings
  const onUnexpected: ReportUnexpected = ({ activity, error, ...about }) =>
    log.error('activity failed unexpectedly', { step: activity, ...about, error })
  const activities = createActivities({
    produceImage,
    cancelTask: attempts.cancelTask,
    onUnexpected,
    stopping,
  })
  const slots = slotsOf(channels)
  const shutdownGraceMs = longestTimeoutMs(channels) + settleGraceMs
  return createRetryingWorker(
    () =>
      createWorker({
        settings,
        activities,
        bundle,
        slots,
        shutdownGraceMs,
      }),
    (error) => log.warn('Temporal is away: images are made without it', { error }),
  )
}
