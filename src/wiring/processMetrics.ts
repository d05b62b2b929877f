import type { Pool } from 'pg'
import { sampleState } from '../store/sampleState.ts'
import type { Metrics, MetricsSources } from '../telemetry/metrics.ts'
import { createMetrics } from '../telemetry/metrics.ts'

/** The metrics that API and worker share, over the process's own pool, and what only one of them has. */
export function createProcessMetrics(
  pool: Pool,
  own: Pick<MetricsSources, 'foreign' | 'startQueueDepth' | 'channels'>,
): Metrics {
  return createMetrics({
    pool: () => ({ total: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),
    state: () => sampleState(pool),
    ...own,
  })
}
