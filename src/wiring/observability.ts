import type { Pool } from 'pg'
import type { Config } from '../config.ts'
import type { Observation } from '../http/context.ts'
import { sampleState } from '../store/sampleState.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Metrics, MetricsSources } from '../telemetry/metrics.ts'
import { createMetrics } from '../telemetry/metrics.ts'
import type { Tracing } from '../telemetry/tracing.ts'

/**
 * Creates the observer of requests. For every request it writes the access log and the metrics. For a request
 * that created or replayed a task, it also records a span.
 */
export function observeRequests(parts: {
  readonly log: Pick<Logger, 'info' | 'debug'>
  readonly metrics: Pick<Metrics, 'request'>
  readonly tracing: Pick<Tracing, 'request'> | undefined
}) {
  return (seen: Observation): void => {
    parts.metrics.request(seen)
    const level = isSuccessfulProbe(seen) ? 'debug' : 'info'
    parts.log[level]('request', { ...seen, durationMs: Math.round(seen.durationMs) })
    const { taskId, replayed } = seen
    if (taskId === undefined || replayed === undefined) return
    parts.tracing?.request({ ...seen, taskId, replayed })
  }
}

/**
 * Returns whether a request is a successful probe. Load balancers probe every few seconds, so these requests
 * are logged at level debug.
 */
function isSuccessfulProbe({ route, status }: Observation): boolean {
  return status === 200 && (route === '/healthz' || route === '/readyz')
}

/** Creates the metrics of one process. `own` contains what only the API process or only the worker has. */
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
