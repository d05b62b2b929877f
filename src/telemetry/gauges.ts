import type { Registry } from 'prom-client'
import { Gauge } from 'prom-client'
import type { StateSample } from '../store/sampleState.ts'

export type GaugeSources = {
  /** Returns the connections of the pool of PostgreSQL: all, idle ones, and callers that wait for one. */
  readonly pool: () => { readonly total: number; readonly idle: number; readonly waiting: number }
  /** Absent in a process that starts no workflows. */
  readonly startQueueDepth?: () => number
  /** Reads the state of the installation. When it fails, its gauges are missing from the answer. */
  readonly state: () => Promise<StateSample>
}

/**
 * How long one sample of the state is used again. So several Prometheus servers that ask at the same time
 * cause only one read.
 */
const sampleMsMax = 5_000

/**
 * Creates the gauges of this process, and those of the whole installation, which every process shows alike. Returns a
 * function that refreshes all of them.
 */
export function createGauges(registry: Registry, sources: GaugeSources): () => Promise<void> {
  const gauge = (name: string, help: string, ...labelNames: string[]) =>
    new Gauge({ name, help, labelNames, registers: [registry] })
  const poolHelp = 'PostgreSQL pool: connections that are total and idle, and callers that wait.'
  const pool = gauge('darkroom_pool_connections', poolHelp, 'state')
  const { startQueueDepth } = sources
  const depthHelp = 'Starts of workflows that are under way.'
  const depth = startQueueDepth && gauge('darkroom_start_queue_depth', depthHelp)
  const up = gauge('darkroom_state_sample_up', '1 when PostgreSQL answered for this scrape.')
  const show = createStateGauges(gauge)
  const read = async () => {
    const sample = await sources.state().catch(() => undefined)
    up.set(sample === undefined ? 0 : 1)
    show(sample)
  }
  let shown = Promise.resolve()
  let untilMs = 0
  return () => {
    for (const [state, count] of Object.entries(sources.pool())) pool.set({ state }, count)
    depth?.set(startQueueDepth?.() ?? 0)
    if (performance.now() < untilMs) return shown
    untilMs = performance.now() + sampleMsMax
    return (shown = read())
  }
}

/** Creates the gauges of the installation. Returns a function that shows a sample, or nothing when there is none. */
function createStateGauges(
  gauge: (name: string, help: string, ...labelNames: string[]) => Gauge,
): (sample: StateSample | undefined) => void {
  const tasks = gauge('darkroom_tasks', 'Unfinished tasks by status.', 'status')
  const ageHelp = 'Age of the oldest unfinished task; 0 without one.'
  const oldest = gauge('darkroom_oldest_task_age_seconds', ageHelp, 'status')
  const held = gauge('darkroom_credits_held', 'Credits held for unfinished tasks.')
  const holds = gauge('darkroom_holds_open', 'Holds neither settled nor released.')
  const paused = gauge('darkroom_channel_paused', '1 while a channel is paused.', 'channel')
  const open = gauge('darkroom_channel_open_attempts', 'Upstream calls under way.', 'channel')
  const leftHelp = 'Time left until a refused model is asked again.'
  const left = gauge('darkroom_cooldown_seconds', leftHelp, 'channel', 'model')
  const failing = gauge('darkroom_webhooks_failing', 'Webhooks whose last try failed.')
  const pending = gauge('darkroom_webhook_deliveries_pending', 'Deliveries that are not over.')
  const oldestPending = gauge(
    'darkroom_webhook_oldest_pending_seconds',
    'Age of the oldest delivery that is not over; 0 without one.',
  )
  const firstLate = gauge(
    'darkroom_webhook_first_try_late_seconds',
    'How long the oldest first try of a webhook that does not fail is overdue; 0 without one.',
  )
  const all = [tasks, oldest, held, holds, paused, open, left]
  const ofWebhooks = [failing, pending, oldestPending, firstLate]
  return (sample) => {
    // `reset` alone would leave a 0 in a gauge without labels, although nothing is known.
    for (const each of [...all, ...ofWebhooks]) {
      each.reset()
      each.remove({})
    }
    if (sample === undefined) return
    for (const status of ['queued', 'processing']) {
      const live = sample.tasks.find((each) => each.status === status)
      tasks.set({ status }, live?.count ?? 0)
      oldest.set({ status }, live?.oldestSeconds ?? 0)
    }
    held.set(sample.creditsHeld)
    holds.set(sample.holdsOpen)
    for (const row of sample.channels) {
      paused.set({ channel: row.channel }, row.paused ? 1 : 0)
      open.set({ channel: row.channel }, row.open)
    }
    for (const { channel, model, seconds } of sample.cooldowns)
      left.set({ channel, model }, seconds)
    failing.set(sample.webhooks.failing)
    pending.set(sample.webhooks.pending)
    oldestPending.set(sample.webhooks.oldestSeconds)
    firstLate.set(sample.webhooks.firstLateSeconds)
  }
}
