import type { Pool } from 'pg'
import type { Config } from '../config.ts'
import { sampleState } from '../store/sampleState.ts'
import { readTaskDetail } from '../store/tasks/readTaskDetail.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Metrics, MetricsSources } from '../telemetry/metrics.ts'
import { createMetrics } from '../telemetry/metrics.ts'
import type { Tracing } from '../telemetry/tracing.ts'

/** Creates the metrics of one process. `own` contains what only the API process or only the worker has. */
export function createProcessMetrics(
  pool: Pool,
  own: Pick<MetricsSources, 'startQueueDepth' | 'channels'>,
): Metrics {
  return createMetrics({
    pool: () => ({ total: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),
    state: () => sampleState(pool),
    ...own,
  })
}

/**
 * Opens tracing. Returns `undefined` when no collector is configured, and then does not load the tracing
 * library.
 */
export async function openTracing(
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
