import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client'

/** What PostgreSQL knows, read at each scrape by whoever holds a pool. */
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

export type PoolSample = { readonly total: number; readonly idle: number; readonly waiting: number }

export type MetricsSources = {
  readonly pool?: () => PoolSample
  /** Absent or failing: these metrics are left out of the scrape, never the whole of it. */
  readonly state?: () => Promise<StateSample>
  readonly startQueueDepth?: () => number
}

export type Metrics = {
  /** The exposition in Prometheus' text format. */
  readonly expose: () => Promise<string>
  readonly contentType: string
  readonly request: (seen: {
    readonly route: string
    readonly method: string
    readonly status: number
    readonly durationMs: number
  }) => void
  readonly upstreamCall: (seen: {
    readonly channel: string
    readonly class: string
    readonly reason: string
    readonly latencyMs: number | undefined
  }) => void
  readonly finding: (kind: string, count: number) => void
  readonly startLeft: (reason: string) => void
}

const requestSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300]
const callSeconds = [0.1, 0.5, 1, 2, 5, 10, 20, 40, 80, 160, 320]

/**
 * The metrics of one process. Labels come from enumerations, the operator's channel names and route
 * patterns only, so their number is bounded (design section 4).
 */
export function createMetrics(sources: MetricsSources = {}): Metrics {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry })
  const requests = new Counter({
    name: 'darkroom_http_requests_total',
    help: 'Answered requests.',
    labelNames: ['route', 'method', 'status'],
    registers,
  })
  const durations = new Histogram({
    name: 'darkroom_http_request_duration_seconds',
    help: 'From the request line to the last byte of the answer.',
    labelNames: ['route', 'method'],
    buckets: requestSeconds,
    registers,
  })
  const calls = new Counter({
    name: 'darkroom_upstream_calls_total',
    help: 'Upstream calls by outcome class and reason.',
    labelNames: ['channel', 'class', 'reason'],
    registers,
  })
  const callDurations = new Histogram({
    name: 'darkroom_upstream_call_duration_seconds',
    help: 'Upstream calls, from the first byte sent to the verdict.',
    labelNames: ['channel'],
    buckets: callSeconds,
    registers,
  })
  const findings = new Counter({
    name: 'darkroom_reconciler_findings_total',
    help: 'What the reconciler had to do.',
    labelNames: ['finding'],
    registers,
  })
  const left = new Counter({
    name: 'darkroom_start_queue_left_total',
    help: 'Workflow starts left to the reconciler.',
    labelNames: ['reason'],
    registers,
  })
  addPoolGauge(registry, sources)
  const refresh = addStateGauges(registry, sources.state)
  return {
    expose: async () => {
      await refresh()
      return registry.metrics()
    },
    contentType: registry.contentType,
    request: ({ route, method, status, durationMs }) => {
      requests.inc({ route, method, status })
      durations.observe({ route, method }, durationMs / 1000)
    },
    upstreamCall: ({ channel, class: outcome, reason, latencyMs }) => {
      calls.inc({ channel, class: outcome, reason })
      if (latencyMs !== undefined) callDurations.observe({ channel }, latencyMs / 1000)
    },
    finding: (finding, count) => findings.inc({ finding }, count),
    startLeft: (reason) => left.inc({ reason }),
  }
}

function addPoolGauge(registry: Registry, sources: MetricsSources): void {
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

/** Answers what brings the gauges up to date: every gauge of one scrape shows the same moment. */
function addStateGauges(registry: Registry, state: MetricsSources['state']): () => Promise<void> {
  if (state === undefined) return async () => {}
  const gauge = (name: string, help: string, labelNames: readonly string[] = []) =>
    new Gauge({ name, help, labelNames: [...labelNames], registers: [registry] })
  const status = ['status']
  const tasks = gauge('darkroom_tasks', 'Tasks by status.', status)
  const oldest = gauge(
    'darkroom_oldest_task_age_seconds',
    'Age of the oldest unfinished task.',
    status,
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
  return async () => {
    for (const each of [tasks, oldest, paused, open, cooldown]) each.reset()
    const sample = await state().catch(() => undefined)
    up.set(sample === undefined ? 0 : 1)
    if (sample === undefined) return
    held.set(sample.creditsHeld)
    holds.set(sample.holdsOpen)
    bytes.set(sample.blobBytes)
    for (const row of sample.tasks) {
      tasks.set({ status: row.status }, row.count)
      if (row.oldestSeconds > 0) oldest.set({ status: row.status }, row.oldestSeconds)
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
