import type { Registry } from 'prom-client'
import { Gauge } from 'prom-client'

export type PoolSample = { readonly total: number; readonly idle: number; readonly waiting: number }

/** What this process has at hand when it is asked: its pool, its queue of workflow starts. */
export function createProcessGauges(
  registry: Registry,
  sources: { readonly pool?: () => PoolSample; readonly startQueueDepth?: () => number },
): void {
  const { pool, startQueueDepth } = sources
  if (pool !== undefined) {
    const gauge = new Gauge({
      name: 'darkroom_pool_connections',
      help: 'PostgreSQL pool: connections that are total and idle, and callers that wait for one.',
      labelNames: ['state'],
      registers: [registry],
      collect: () => {
        for (const [state, count] of Object.entries(pool())) gauge.set({ state }, count)
      },
    })
  }
  if (startQueueDepth !== undefined) {
    const gauge: Gauge = new Gauge({
      name: 'darkroom_start_queue_depth',
      help: 'Accepted tasks whose workflow start waits or is under way.',
      registers: [registry],
      collect: (): void => gauge.set(startQueueDepth()),
    })
  }
}
