import type { Registry } from 'prom-client'
import { Gauge } from 'prom-client'

/** What PostgreSQL knows, read at a scrape by whoever holds a pool: `src/store/sampleState.ts`. */
export type StateSample = {
  readonly tasks: readonly {
    readonly status: string
    readonly count: number
    readonly oldestSeconds: number
  }[]
  readonly creditsHeld: number
  readonly holdsOpen: number
  readonly blobBytes: number
  readonly channels: readonly {
    readonly channel: string
    readonly paused: boolean
    readonly open: number
  }[]
  readonly cooldowns: readonly {
    readonly channel: string
    readonly model: string
    readonly seconds: number
  }[]
}

/** Several may scrape, and every process is asked: one read serves all who come within this time. */
const sampleMsMax = 5_000

/**
 * Gauges of the whole installation, the same from whichever process. Answers what brings them up to
 * date, together: every gauge of one scrape shows the same moment.
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
  const tasks = gauge(
    'darkroom_tasks',
    'Tasks by status; succeeded ones while their result is kept.',
    ['status'],
  )
  const oldest = gauge(
    'darkroom_oldest_task_age_seconds',
    'Age of the oldest unfinished task; 0 without one.',
    ['status'],
  )
  const held = gauge('darkroom_credits_held', 'Credits held for unfinished tasks.')
  const holds = gauge('darkroom_holds_open', 'Holds neither settled nor released.')
  const bytes = gauge('darkroom_blob_bytes', 'Bytes of finished images that are kept.')
  const paused = gauge('darkroom_channel_paused', '1 while a channel is paused.', ['channel'])
  const open = gauge('darkroom_channel_open_attempts', 'Upstream calls under way.', ['channel'])
  const cooldown = gauge(
    'darkroom_cooldown_seconds',
    'Time left until a refused model is asked again.',
    ['channel', 'model'],
  )
  const up = gauge('darkroom_state_sample_up', '1 when PostgreSQL answered for this scrape.')
  return (sample) => {
    for (const each of [tasks, oldest, held, holds, bytes, paused, open, cooldown]) each.reset()
    up.set(sample === undefined ? 0 : 1)
    if (sample === undefined) return
    held.set(sample.creditsHeld)
    holds.set(sample.holdsOpen)
    bytes.set(sample.blobBytes)
    for (const status of ['queued', 'processing']) {
      tasks.set({ status }, 0)
      oldest.set({ status }, 0)
    }
    for (const { status, count, oldestSeconds } of sample.tasks) {
      tasks.set({ status }, count)
      if (oldestSeconds > 0) oldest.set({ status }, oldestSeconds)
    }
    for (const row of sample.channels) {
      paused.set({ channel: row.channel }, row.paused ? 1 : 0)
      open.set({ channel: row.channel }, row.open)
    }
    for (const { channel, model, seconds } of sample.cooldowns) {
      cooldown.set({ channel, model }, seconds)
    }
  }
}
