import { Registry, collectDefaultMetrics } from 'prom-client'
import type { Recorders } from './recorders.ts'
import { createRecorders } from './recorders.ts'
import type { StateSample } from './stateGauges.ts'
import { createStateGauges } from './stateGauges.ts'
import type { PoolSample } from './processGauges.ts'
import { createProcessGauges } from './processGauges.ts'

export type MetricsSources = {
  readonly pool?: () => PoolSample
  /** Absent or failing: these metrics are left out of the scrape, never the whole of it. */
  readonly state?: () => Promise<StateSample>
  readonly startQueueDepth?: () => number
  /** The operator's channels: their calls count from zero, so that the first one is seen to rise. */
  readonly channels?: readonly string[]
  /** Another exposition's text, of names of its own; must not throw. */
  readonly foreign?: () => Promise<string>
}

const misnamed = ['handles', 'requests', 'resources'].map((kind) => `nodejs_active_${kind}_total`)

export type Metrics = Recorders & {
  /** The exposition in Prometheus' text format. */
  readonly expose: () => Promise<string>
  readonly contentType: string
}

/**
 * The metrics of one process. Labels come from enumerations, the operator's channel names and route
 * patterns only, so their number is bounded (design section 4). What operators do with them:
 * `tools/observability/`.
 */
export function createMetrics(sources: MetricsSources = {}): Metrics {
  const registry = new Registry()
  // Process and event loop: `nodejs_eventloop_lag_…`, `process_resident_memory_bytes` and their kin.
  collectDefaultMetrics({ register: registry })
  // Gauges named like counters: Prometheus' own checker refuses them, and nobody needs them.
  for (const name of misnamed) registry.removeSingleMetric(name)
  createProcessGauges(registry, sources)
  const refresh = createStateGauges(registry, sources.state)
  return {
    ...createRecorders(registry, sources.channels ?? []),
    expose: async () => {
      const [foreign] = await Promise.all([sources.foreign?.() ?? '', refresh()])
      return `${await registry.metrics()}${foreign}`
    },
    contentType: registry.contentType,
  }
}
