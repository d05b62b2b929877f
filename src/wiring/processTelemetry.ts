import type { Pool } from 'pg'
import type { Config } from '../config.ts'
import { createSampleState } from '../store/sampleState.ts'
import type { Metrics, MetricsSources } from '../telemetry/metrics.ts'
import { createMetrics } from '../telemetry/metrics.ts'
import type { Tracing } from '../telemetry/tracing.ts'

/** Creates the metrics of one process. `own` contains what only the API process or only the worker has. */
export function createProcessMetrics(
  pool: Pool,
  own: Pick<MetricsSources, 'foreign' | 'startQueueDepth' | 'channels'>,
): Metrics {
  return createMetrics({
    pool: () => ({ total: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),
    state: createSampleState(pool),
    ...own,
  })
}

/**
 * Opens tracing. Returns `undefined` when no collector is configured, and then does not load the tracing
 * library.
 */
export async function openTracing(
  config: Config,
  process: 'api' | 'worker',
): Promise<Tracing | undefined> {
  if (config.otlpEndpoint === undefined) return undefined
  const { createTracing } = await import('../telemetry/tracing.ts')
  return createTracing(process)
}
