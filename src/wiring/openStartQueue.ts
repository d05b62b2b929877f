import type { Config } from '../config.ts'
import { produceTimeoutMs } from '../domain/tasks/taskTerms.ts'
import type { Installation } from './installation.ts'
import { markStarted } from '../store/reconcile/checkSchedule.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { Temporal } from '../temporal/connect.ts'
import type { StartQueue } from '../temporal/startQueue.ts'
import { createStartQueue } from '../temporal/startQueue.ts'
import { createStartTask } from '../temporal/startTask.ts'

/** Limit for the start of one workflow. If the start takes longer, the reconciler starts the workflow. */
const startTimeoutMs = 3_000

/** Creates the queue in which one process starts workflows. */
export function openStartQueue(
  config: Config,
  parts: {
    readonly installation: Installation
    readonly temporal: Temporal
    readonly log: Logger
    readonly metrics: Metrics
  },
): StartQueue {
  const { installation, temporal, log, metrics } = parts
  const { channels } = installation.operatorSettings
  return createStartQueue({
    startTask: createStartTask({
      temporal,
      startTimeoutMs,
      produceTimeoutMs: produceTimeoutMs(config.taskDeadlineSeconds * 1000, channels),
    }),
    markStarted: (taskIds) => markStarted(installation.pool, taskIds),
    nowMs: () => performance.now(),
    onEvent: (event) => {
      if (event.kind === 'mark_failed') {
        const { count, error } = event
        return log.warn('starts not marked', { count, error })
      }
      metrics.startLeft(event.reason)
      return log.info('start left to the reconciler', {
        taskId: event.taskId,
        reason: event.reason,
      })
    },
  })
}
