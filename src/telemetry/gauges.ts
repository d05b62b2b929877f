import type { Registry } from 'prom-client'
import { Gauge } from 'prom-client'
import { withTimeout } from '../domain/withTimeout.ts'
import type { GaugeValue } from '../store/sampleState.ts'

export type GaugeSources = {
  /** Returns the connections of the pool of PostgreSQL: all, idle ones, and callers that wait for one. */
  readonly pool: () => { readonly total: number; readonly idle: number; readonly waiting: number }
  /** Whether the blob store takes writes (`src/blobs/watchPuts.ts`). */
  readonly takesWrites: () => Promise<boolean>
  /** Absent in a process that starts no workflows. */
  readonly startQueueDepth?: () => number
  /** Reads the state of the installation. When it fails or takes long, its gauges are missing from the answer. */
  readonly state: () => Promise<readonly GaugeValue[]>
}

/**
 * Limit for the state. Prometheus waits 10 s for all metrics by default: when PostgreSQL is stopped, the gauge that says so
 * must still come.
 */
const stateMsMax = 3_000

/** The gauges of the installation (`src/store/sampleState.ts`): name, help and labels. */
const stateGauges: readonly (readonly [name: string, help: string, ...labels: string[]])[] = [
  ['darkroom_tasks', 'Unfinished tasks by status.', 'status'],
  [
    'darkroom_oldest_task_age_seconds',
    'Age of the oldest unfinished task; 0 without one.',
    'status',
  ],
  ['darkroom_credits_held', 'Credits held for unfinished tasks.'],
  ['darkroom_holds_open', 'Holds neither settled nor released.'],
  ['darkroom_channel_paused', '1 while a channel is paused.', 'channel'],
  ['darkroom_channel_open_attempts', 'Upstream calls under way.', 'channel'],
  [
    'darkroom_cooldown_seconds',
    'Time left until a refused model is asked again.',
    'channel',
    'model',
  ],
  ['darkroom_webhooks_failing', 'Webhooks whose last try failed.'],
  ['darkroom_webhook_deliveries_pending', 'Deliveries that are not over.'],
  [
    'darkroom_webhook_oldest_pending_seconds',
    'Age of the oldest delivery that is not over; 0 without one.',
  ],
  [
    'darkroom_webhook_first_try_late_seconds',
    'How long the oldest first try of a webhook that does not fail is overdue; 0 without one.',
  ],
]

/**
 * Creates the gauges of this process, and those of the whole installation, which every process shows alike. Returns a
 * function that refreshes all of them.
 */
export function createGauges(registry: Registry, sources: GaugeSources): () => Promise<void> {
  const gauge = (name: string, help: string, ...labelNames: string[]) =>
    new Gauge({ name, help, labelNames, registers: [registry] })
  const poolHelp = 'PostgreSQL pool: connections that are total and idle, and callers that wait.'
  const pool = gauge('darkroom_pool_connections', poolHelp, 'state')
  const writable = gauge('darkroom_blob_store_writable', '1 when the blob store takes images.')
  const { startQueueDepth } = sources
  const depthHelp = 'Starts of workflows that are under way.'
  const depth = startQueueDepth && gauge('darkroom_start_queue_depth', depthHelp)
  const up = gauge('darkroom_state_sample_up', '1 when PostgreSQL answered for this scrape.')
  const ofState = stateGauges.map(([name, ...described]) => ({
    name,
    gauge: gauge(name, ...described),
  }))
  return async () => {
    for (const [state, count] of Object.entries(sources.pool())) pool.set({ state }, count)
    depth?.set(startQueueDepth?.() ?? 0)
    writable.set((await sources.takesWrites()) ? 1 : 0)
    const sample = await withTimeout(stateMsMax, sources.state).catch(() => undefined)
    up.set(sample === undefined ? 0 : 1)
    for (const each of ofState) {
      // `reset` alone would leave a 0 in a gauge without labels, although nothing is known.
      each.gauge.reset()
      each.gauge.remove({})
      const values = sample?.filter((row) => row.gauge === each.name) ?? []
      for (const { labels, value } of values) each.gauge.set(labels, value)
    }
  }
}
