import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createActivities } from '../../activities/createActivities.ts'
import type { Config } from '../config.ts'
import { required } from '../config.ts'
import type { Channel } from '../domain/channel.ts'
import type { Family } from '../domain/models.ts'
import { createInternalServer } from '../http/internalServer.ts'
import { createAttemptStore } from '../store/attemptStore.ts'
import { ensureChannels } from '../store/ensureChannels.ts'
import { createIsCancelled } from '../store/isCancelled.ts'
import { sampleState } from '../store/sampleState.ts'
import { createProduceImage } from '../tasks/produceImage.ts'
import { createSettleOrFail } from '../tasks/settleOrFail.ts'
import type { Logger } from '../telemetry/logger.ts'
import { createMetrics } from '../telemetry/metrics.ts'
import { connectTemporal } from '../temporal/connect.ts'
import { temporalSettings } from '../temporal/settings.ts'
import { createWorker } from '../temporal/worker/createWorker.ts'
import { installRuntime } from '../temporal/worker/installRuntime.ts'
import { workflowBundle } from '../temporal/worker/workflowBundle.ts'
import { createUpstreamCaller } from '../upstream/createUpstreamCaller.ts'
import { createUpstreamAgent } from '../upstream/upstreamAgent.ts'
import { openInstallation } from './installation.ts'
import { createWorkerReconciler } from './reconciler.ts'
import type { RunningProcess } from './runProcess.ts'
import { longestTimeoutMs, produceTimeoutMs } from './temporalLimits.ts'

/** Storing and settling after the last byte of an answer, before a stopping worker gives up. */
const settleGraceMs = 30_000
const connectionsMax = 24

/** One worker process: polls Temporal, calls upstream models, takes part in reconciling. */
export async function startWorker(config: Config, log: Logger): Promise<RunningProcess> {
  const address = required(config.temporalAddress, 'TEMPORAL_ADDRESS')
  const installation = await openInstallation(config, log, {
    process: 'worker',
    connectionsMax,
    withKeys: true,
  })
  const { operation, pool, blobs, databaseUrl } = installation
  const { channels, capabilities } = operation
  const channelsOf = (family: Family) => channels.filter((channel) => channel.family === family)
  await ensureChannels(
    pool,
    channels.map(({ name }) => name),
  )
  const metrics = createMetrics({
    pool: () => ({ total: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),
    state: () => sampleState(pool),
  })
  const agent = createUpstreamAgent()
  const attempts = createAttemptStore({
    pool,
    randomBytes,
    random: Math.random,
    channelsOf,
    callsMax: config.upstreamCallsMax,
    retentionSeconds: config.retentionSeconds,
    tombstoneSeconds: config.tombstoneSeconds,
  })
  const produceImage = createProduceImage({
    attempts,
    blobs,
    callUpstream: createUpstreamCaller({
      blobs,
      capabilities,
      tempDir: join(tmpdir(), 'darkroom-answers'),
      dispatcher: agent,
    }),
    onOutcome: ({ taskId, attempt, channel, outcome }) => {
      const { reason, httpStatus, upstreamRequestId, latencyMs } = outcome.evidence
      metrics.upstreamCall({ channel, class: outcome.class, reason, latencyMs })
      const known = {
        ...(httpStatus === undefined ? {} : { httpStatus }),
        ...(upstreamRequestId === undefined ? {} : { upstreamRequestId }),
        ...(latencyMs === undefined ? {} : { durationMs: Math.round(latencyMs) }),
      }
      log.info('upstream call', {
        taskId,
        attempt,
        channel,
        class: outcome.class,
        reason,
        ...known,
      })
    },
  })
  const settings = temporalSettings({ address, namespace: config.temporalNamespace })
  const temporal = connectTemporal(settings)
  installRuntime({ log: sdkLog(log) })
  const worker = await createWorker({
    settings,
    activities: createActivities({
      produceImage,
      settleOrFail: createSettleOrFail({ attempts, blobs }),
      cancelTask: attempts.cancelTask,
      isCancelled: createIsCancelled({ pool }),
      onUnexpected: ({ activity, taskId, error }) =>
        log.error('activity failed unexpectedly', { step: activity, taskId, error }),
    }),
    bundle: await workflowBundle(bundleCache(config)),
    slots: { A: slotsOf(channelsOf('A')), B: slotsOf(channelsOf('B')) },
    shutdownGraceMs: longestTimeoutMs(channels) + settleGraceMs,
  })
  const reconciler = createWorkerReconciler({
    databaseUrl,
    pool,
    blobs,
    attempts,
    produceImage,
    temporal,
    produceTimeoutMs: produceTimeoutMs(config, channels),
    log,
    onFinding: (found, count) => metrics.finding(found, count),
  })
  reconciler.start()
  const ready = async () => {
    await pool.query('select 1')
    return worker.isRunning()
  }
  const internal = await createInternalServer({
    host: config.internalHost,
    port: config.workerInternalPort,
    metrics,
    ready,
  })
  log.info('worker ready', { port: internal.port })
  return {
    ended: worker.done,
    stop: async () => {
      await Promise.all([worker.stop(), reconciler.stop()])
      await internal.close()
      await temporal.close()
      await agent.close()
      await installation.close()
    },
  }
}

/** The SDK tells each change of its state at `info`; for us that is detail. */
function sdkLog(log: Logger) {
  return (level: 'debug' | 'info' | 'warn' | 'error', event: string) =>
    log[level === 'info' ? 'debug' : level](`temporal: ${event}`)
}

function slotsOf(channels: readonly Channel[]): number {
  return channels.reduce((sum, { concurrencyMax }) => sum + concurrencyMax, 0)
}

function bundleCache(config: Config): { cacheDir?: string } {
  return existsSync(config.dataDir) ? { cacheDir: join(config.dataDir, 'cache') } : {}
}
