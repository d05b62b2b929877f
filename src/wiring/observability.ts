import type { Pool } from 'pg'
import type { Config } from '../config.ts'
import type { Observation } from '../http/context.ts'
import { sampleState } from '../store/sampleState.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Metrics, MetricsSources } from '../telemetry/metrics.ts'
import { createMetrics } from '../telemetry/metrics.ts'
import type { Tracing } from '../telemetry/tracing.ts'

/** Access log and metrics of every request; a span of those that made a task or joined one. */
export function observeRequests(parts: {
  readonly log: Pick<Logger, 'info' | 'debug'>
  readonly metrics: Pick<Metrics, 'request'>
  readonly tracing: Pick<Tracing, 'request'> | undefined
}) {
  return (seen: Observation): void => {
    parts.metrics.request(seen)
    const level = isQuiet(seen) ? 'debug' : 'info'
    parts.log[level]('request', { ...seen, durationMs: Math.round(seen.durationMs) })
    const { taskId, replayed } = seen
    if (taskId === undefined || replayed === undefined) return
    parts.tracing?.request({ ...seen, taskId, replayed })
  }
}

/** Balancers ask every few seconds: that all is well is no news. */
function isQuiet({ route, status }: Observation): boolean {
  return status === 200 && (route === '/healthz' || route === '/readyz')
}

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

/** Traces when somebody collects them. Otherwise not even their library is loaded. */
export async function openTracing(
  config: Config,
  process: 'api' | 'worker',
): Promise<Tracing | undefined> {
  if (config.otlpEndpoint === undefined) return undefined
  const { createTracing } = await import('../telemetry/tracing.ts')
  return createTracing(process)
}
