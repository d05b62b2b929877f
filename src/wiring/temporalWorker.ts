import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createActivities } from '../../activities/createActivities.ts'
import type { Config } from '../config.ts'
import type { Channel } from '../domain/channel.ts'
import type { TaskTracer } from '../domain/taskTracer.ts'
import { createIsCancelled } from '../store/isCancelled.ts'
import { createSettleOrFail } from '../tasks/settleOrFail.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { TemporalSettings } from '../temporal/settings.ts'
import type { RunningWorker } from '../temporal/worker/createWorker.ts'
import { createWorker } from '../temporal/worker/createWorker.ts'
import type { WorkerLog } from '../temporal/worker/installRuntime.ts'
import { loggerOf } from '../temporal/worker/installRuntime.ts'
import { createPatientWorker } from '../temporal/worker/patientWorker.ts'
import { workflowBundle } from '../temporal/worker/workflowBundle.ts'
import type { Execution } from './execution.ts'
import { channelsOf } from './execution.ts'
import type { Installation } from './installation.ts'
import { longestTimeoutMs } from './temporalLimits.ts'

/** Storing and settling after the last byte of an answer, before a stopping worker gives up. */
const settleGraceMs = 30_000

/** Polls Temporal for workflows and activities; patient while Temporal is away. */
export async function startTemporalWorker(
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
  return createPatientWorker(
    () => createWorker({ settings, activities, bundle, slots, shutdownGraceMs, ...traced }),
    (error) => log.warn('Temporal is away', { error }),
  )
}

/** The SDK tells each change of its state at `info`; for us that is detail. */
export function sdkLog(log: Logger) {
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
