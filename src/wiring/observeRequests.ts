import type { Observation } from '../http/apiDeps.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Metrics } from '../telemetry/metrics.ts'
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
