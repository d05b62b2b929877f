import type { Observation } from './context.ts'

type WriteLine = (message: string, fields: Observation) => void

/** Creates the observer of requests. For every request it writes the access log and the metrics. */
export function observeRequests(parts: {
  readonly log: Readonly<Record<'info' | 'debug', WriteLine>>
  readonly metrics: { readonly request: (seen: Observation) => void }
}) {
  return (seen: Observation): void => {
    parts.metrics.request(seen)
    const level = isSuccessfulProbe(seen) ? 'debug' : 'info'
    parts.log[level]('request', { ...seen, durationMs: Math.round(seen.durationMs) })
  }
}

/**
 * Returns whether a request is a successful probe. Load balancers probe every few seconds, so these requests
 * are logged at level debug.
 */
function isSuccessfulProbe({ route, status }: Observation): boolean {
  return status === 200 && (route === '/healthz' || route === '/readyz')
}
