import { Counter, Histogram, Registry, collectDefaultMetrics } from 'prom-client'
import type { StateSample } from '../store/sampleState.ts'
import type { DirectResult } from '../domain/tasks/directRun.ts'
import { directResults } from '../domain/tasks/directRun.ts'
import type { Verdict } from '../domain/webhooks/retries.ts'
import type { OutcomeClass, OutcomeReason } from '../domain/upstream/upstreamCall.ts'
import type { PoolSample } from './gauges.ts'
import { createProcessGauges, createStateGauges } from './gauges.ts'

export type MetricsSources = {
  readonly pool?: () => PoolSample
  /**
   * Reads the state of the installation. When it is absent or fails, only its own metrics are missing from
   * the answer.
   */
  readonly state?: () => Promise<StateSample>
  readonly startQueueDepth?: () => number
  /**
   * The names of the operator's channels. Their counters start at 0, so that Prometheus sees the first call
   * as an increase.
   */
  readonly channels?: readonly string[]
  /**
   * Returns more metrics as text, such as those of Temporal's SDK. Must not throw, and must not use a name of
   * ours.
   */
  readonly foreign?: () => Promise<string>
}

const gaugesNamedAsCounters = ['handles', 'requests', 'resources'].map(
  (kind) => `nodejs_active_${kind}_total`,
)

export type Metrics = Recorders & {
  /** Returns all metrics in Prometheus' text format. */
  readonly expose: () => Promise<string>
  readonly contentType: string
}

/**
 * Creates the metrics of one process. The counters and histograms, which the process updates when something happens,
 * are made in this file. The gauges, whose values are read at each scrape, are made in `gauges.ts`. Labels have only
 * names from fixed sets, channel names and route patterns as values, so the number of time series is limited.
 * `tools/observability/` contains alerts and a dashboard.
 */
export function createMetrics(sources: MetricsSources = {}): Metrics {
  const registry = new Registry()
  // Metrics of process and event loop, such as `nodejs_eventloop_lag_…` and `process_resident_memory_bytes`.
  collectDefaultMetrics({ register: registry })
  // These are gauges with names of counters (`…_total`). Prometheus' checker reports such names as errors.
  for (const name of gaugesNamedAsCounters) registry.removeSingleMetric(name)
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

/**
 * Functions with which a process records what happens, in counters and histograms. They never throw, and they return
 * at once.
 */
export type Recorders = {
  readonly request: (seen: {
    readonly route: string
    readonly method: string
    readonly status: number
    readonly durationMs: number
  }) => void
  readonly upstreamCall: (seen: {
    readonly channel: string
    readonly class: OutcomeClass
    readonly reason: OutcomeReason
    readonly latencyMs: number | undefined
  }) => void
  readonly finding: (kind: string, count: number) => void
  readonly startLeft: (reason: string) => void
  readonly offer: (result: DirectResult) => void
  readonly webhookTry: (seen: {
    readonly outcome: Verdict['kind']
    readonly durationMs: number
  }) => void
}

const requestSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300]
const callSeconds = [0.1, 0.5, 1, 2, 5, 10, 20, 40, 80, 160, 320]

/**
 * The counters that exist from the start, with the value 0, for every channel. If a counter appeared only
 * with its first event, Prometheus would see no increase from 0 to 1.
 */
const expectedReasons: Readonly<Record<OutcomeClass, readonly OutcomeReason[]>> = {
  succeeded: ['image'],
  refused: [
    'rate_limited',
    'overloaded',
    'not_sent',
    'not_called',
    'inputs_unreadable',
    'credential_unreadable',
  ],
  rejected: ['invalid_request', 'content_policy', 'no_image', 'forbidden'],
  exhausted: ['quota_exhausted'],
  operator_fault: ['credential', 'forbidden', 'model_not_found'],
  unknown: [
    'server_error',
    'connection_lost',
    'timeout',
    'broken_body',
    'answer_too_large',
    'unexpected_status',
    'forbidden',
  ],
}

/** Creates the counters and histograms of one process in `registry`. */
export function createRecorders(registry: Registry, channels: readonly string[]): Recorders {
  return {
    ...requestRecorder(registry),
    ...callRecorder(registry, channels),
    ...taskRecorders(registry),
    ...webhookRecorder(registry),
  }
}

function requestRecorder(registry: Registry): Pick<Recorders, 'request'> {
  const registers = [registry]
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
  return {
    request: ({ route, method, status, durationMs }) => {
      requests.inc({ route, method, status })
      durations.observe({ route, method }, durationMs / 1000)
    },
  }
}

function callRecorder(
  registry: Registry,
  channels: readonly string[],
): Pick<Recorders, 'upstreamCall'> {
  const registers = [registry]
  const calls = new Counter({
    name: 'darkroom_upstream_calls_total',
    help: 'Upstream calls by outcome class and reason.',
    labelNames: ['channel', 'class', 'reason'],
    registers,
  })
  const durations = new Histogram({
    name: 'darkroom_upstream_call_duration_seconds',
    help: 'Upstream calls, from the first byte sent to the verdict.',
    labelNames: ['channel'],
    buckets: callSeconds,
    registers,
  })
  for (const channel of channels) {
    durations.zero({ channel })
    for (const [outcome, reasons] of Object.entries(expectedReasons)) {
      for (const reason of reasons) calls.inc({ channel, class: outcome, reason }, 0)
    }
  }
  return {
    upstreamCall: ({ channel, class: outcome, reason, latencyMs }) => {
      calls.inc({ channel, class: outcome, reason })
      if (latencyMs !== undefined) durations.observe({ channel }, latencyMs / 1000)
    },
  }
}

function taskRecorders(registry: Registry): Pick<Recorders, 'finding' | 'startLeft' | 'offer'> {
  const registers = [registry]
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
  const offers = new Counter({
    name: 'darkroom_offers_total',
    help: 'Tasks that workers carried out without Temporal, by what came of it.',
    labelNames: ['result'],
    registers,
  })
  for (const result of directResults) offers.inc({ result }, 0)
  return {
    offer: (result) => offers.inc({ result }),
    finding: (finding, count) => findings.inc({ finding }, count),
    startLeft: (reason) => left.inc({ reason }),
  }
}

const tryOutcomes: readonly Verdict['kind'][] = ['delivered', 'retry', 'given_up', 'gone']
const trySeconds = [0.01, 0.05, 0.1, 0.5, 1, 2, 5, 10, 15]

function webhookRecorder(registry: Registry): Pick<Recorders, 'webhookTry'> {
  const registers = [registry]
  const tries = new Counter({
    name: 'darkroom_webhook_tries_total',
    help: 'Tries of webhook deliveries by outcome: delivered, retry (one more follows), given_up, gone (410).',
    labelNames: ['outcome'],
    registers,
  })
  const durations = new Histogram({
    name: 'darkroom_webhook_try_duration_seconds',
    help: 'Tries of webhook deliveries, from the look-up of the name to the answer.',
    buckets: trySeconds,
    registers,
  })
  for (const outcome of tryOutcomes) tries.inc({ outcome }, 0)
  return {
    webhookTry: ({ outcome, durationMs }) => {
      tries.inc({ outcome })
      durations.observe(durationMs / 1000)
    },
  }
}
