import type { Registry } from 'prom-client'
import { Gauge } from 'prom-client'
import type { StateSample } from '../store/sampleState.ts'

/** The connections of a pool of PostgreSQL. */
export type PoolSample = { readonly total: number; readonly idle: number; readonly waiting: number }

/**
 * Creates the gauges that this process reads from its own memory: its connection pool and its starts of workflows.
 */
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
      help: 'Starts of workflows that are under way.',
      registers: [registry],
      collect: (): void => gauge.set(startQueueDepth()),
    })
  }
}

/**
 * How long one sample of the state is used again. So several Prometheus servers that ask at the same time
 * cause only one read.
 */
const sampleMsMax = 5_000

/**
 * Creates the gauges of the whole installation. Every process shows the same values, apart from the age of its sample.
 * Returns a function that refreshes all gauges together.
 */
export function createStateGauges(
  registry: Registry,
  state: (() => Promise<StateSample>) | undefined,
): () => Promise<void> {
  if (state === undefined) return async () => {}
  const show = gaugesIn(registry)
  let shown = Promise.resolve()
  let untilMs = 0
  return () => {
    if (performance.now() >= untilMs) {
      untilMs = performance.now() + sampleMsMax
      shown = state().then(show, () => show(undefined))
    }
    return shown
  }
}

function gaugesIn(registry: Registry): (sample: StateSample | undefined) => void {
  const gauge = (name: string, help: string, labelNames: string[] = []) =>
    new Gauge({ name, help, labelNames, registers: [registry] })
  const tasks = gauge('darkroom_tasks', 'Unfinished tasks by status.', ['status'])
  const oldest = gauge(
    'darkroom_oldest_task_age_seconds',
    'Age of the oldest unfinished task; 0 without one.',
    ['status'],
  )
  const held = gauge('darkroom_credits_held', 'Credits held for unfinished tasks.')
  const holds = gauge('darkroom_holds_open', 'Holds neither settled nor released.')
  const paused = gauge('darkroom_channel_paused', '1 while a channel is paused.', ['channel'])
  const open = gauge('darkroom_channel_open_attempts', 'Upstream calls under way.', ['channel'])
  const cooldown = gauge(
    'darkroom_cooldown_seconds',
    'Time left until a refused model is asked again.',
    ['channel', 'model'],
  )
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
  const up = gauge('darkroom_state_sample_up', '1 when PostgreSQL answered for this scrape.')
  return (sample) => {
    for (const each of [tasks, oldest, held, holds, paused, open, cooldown]) each.reset()
    for (const each of [failing, pending, oldestPending, firstLate]) each.reset()
    up.set(sample === undefined ? 0 : 1)
    if (sample === undefined) return
    held.set(sample.creditsHeld)
    holds.set(sample.holdsOpen)
    for (const status of ['queued', 'processing']) {
      tasks.set({ status }, 0)
      oldest.set({ status }, 0)
    }
    for (const { status, count, oldestSeconds } of sample.tasks) {
      tasks.set({ status }, count)
      oldest.set({ status }, oldestSeconds)
    }
    const { webhooks } = sample
    failing.set(webhooks.failing)
    pending.set(webhooks.pending)
    oldestPending.set(webhooks.oldestSeconds)
    firstLate.set(webhooks.firstLateSeconds)
    for (const row of sample.channels) {
      paused.set({ channel: row.channel }, row.paused ? 1 : 0)
      open.set({ channel: row.channel }, row.open)
    }
    for (const { channel, model, seconds } of sample.cooldowns) {
      cooldown.set({ channel, model }, seconds)
    }
  }
}
