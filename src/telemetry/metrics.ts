import { Counter, Histogram, Registry, collectDefaultMetrics } from 'prom-client'
import type { ModelId } from '../domain/models/models.ts'
import type { DirectResult } from '../domain/tasks/directRun.ts'
import { directResults } from '../domain/tasks/directRun.ts'
import type { OutcomeClass, OutcomeReason } from '../domain/upstream/upstreamCall.ts'
import type { Verdict } from '../domain/webhooks/retries.ts'
import type { GaugeSources } from './gauges.ts'
import { createGauges } from './gauges.ts'

/** The sources of the gauges, and the operator's channels and models: their counters exist from the start. */
export type MetricsSources = GaugeSources & {
  readonly channels?: readonly string[]
  readonly models?: readonly ModelId[]
}

export type Metrics = ReturnType<typeof createMetrics>

/** What records in the metrics what happens. */
export type Recorders = ReturnType<typeof createRecorders>

const gaugesNamedAsCounters = ['handles', 'requests', 'resources'].map(
  (kind) => `nodejs_active_${kind}_total`,
)

/**
 * Creates the metrics of one process. The counters and histograms, which the process updates when something happens,
 * are made in this file. The gauges, whose values are read at each scrape, are made in `gauges.ts`. Labels have only
 * names from fixed sets, channel names and route patterns as values, so the number of time series is limited.
 * `deploy/` contains alerts and a dashboard.
 */
export function createMetrics({ channels = [], models = [], ...sources }: MetricsSources) {
  const registry = new Registry()
  // Metrics of process and event loop, such as `nodejs_eventloop_lag_…` and `process_resident_memory_bytes`.
  collectDefaultMetrics({ register: registry })
  // These are gauges with names of counters (`…_total`). Prometheus' checker reports such names as errors.
  for (const name of gaugesNamedAsCounters) registry.removeSingleMetric(name)
  const refresh = createGauges(registry, sources)
  return {
    ...createRecorders(registry, channels, models),
    /** Returns all metrics in Prometheus' text format. Gauges that cannot be read are left out. */
    expose: async () => {
      await refresh()
      return registry.metrics()
    },
    contentType: registry.contentType,
  }
}

const requestSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300]
const callSeconds = [0.1, 0.5, 1, 2, 5, 10, 20, 40, 80, 160, 320]
const trySeconds = [0.01, 0.05, 0.1, 0.5, 1, 2, 5, 10, 15]

/**
 * Creates the counters and histograms in `registry`, and the functions that record in them what happens. These never
 * throw, and return at once.
 */
export function createRecorders(
  registry: Registry,
  channels: readonly string[],
  models: readonly ModelId[] = [],
) {
  const registers = [registry]
  const counter = (name: string, help: string, labelNames: string[]) =>
    new Counter({ name, help, labelNames, registers })
  const histogram = (name: string, help: string, buckets: number[], labelNames: string[] = []) =>
    new Histogram({ name, help, buckets, labelNames, registers })

  const requests = counter('darkroom_http_requests_total', 'Answered requests.', [
    'route',
    'method',
    'status',
  ])
  const requestDurations = histogram(
    'darkroom_http_request_duration_seconds',
    'From the request line to the last byte of the answer.',
    requestSeconds,
    ['route', 'method'],
  )
  const calls = counter(
    'darkroom_upstream_calls_total',
    'Upstream calls by outcome class and reason.',
    ['channel', 'class', 'reason'],
  )
  const callDurations = histogram(
    'darkroom_upstream_call_duration_seconds',
    'Upstream calls, from the first byte sent to the verdict.',
    callSeconds,
    ['channel'],
  )
  const unknownWords = counter(
    'darkroom_unknown_vendor_words_total',
    'Answers with a code or reason of the vendor that Darkroom does not know. The log names it.',
    ['channel'],
  )
  const findings = counter('darkroom_reconciler_findings_total', 'What the reconciler had to do.', [
    'finding',
  ])
  const startsLeft = counter(
    'darkroom_start_queue_left_total',
    'Workflow starts left to the reconciler.',
    ['reason'],
  )
  const directRuns = counter(
    'darkroom_direct_runs_total',
    'Tasks that workers carried out without Temporal, by what came of it.',
    ['result'],
  )
  const refunds = counter(
    'darkroom_refunded_images_total',
    'Images that were smaller than asked, so that a part of the hold went back.',
    ['model'],
  )
  const refundedCredits = counter(
    'darkroom_refunded_credits_total',
    'Credits that went back because an image was smaller than asked.',
    ['model'],
  )
  const tries = counter(
    'darkroom_webhook_tries_total',
    'Tries of webhook deliveries by outcome: delivered, retry (one more follows), given_up, gone (410).',
    ['outcome'],
  )
  const tryDurations = histogram(
    'darkroom_webhook_try_duration_seconds',
    'Tries of webhook deliveries, from the look-up of the name to the answer.',
    trySeconds,
  )
  const putsFailed = counter(
    'darkroom_blob_puts_failed_total',
    'Puts of the blob store that failed.',
    [],
  )
  // If a counter appeared only with its first event, Prometheus would see no increase from 0 to 1.
  for (const channel of channels) {
    callDurations.zero({ channel })
    unknownWords.inc({ channel }, 0)
    for (const labels of expectedOutcomes()) calls.inc({ channel, ...labels }, 0)
  }
  for (const model of models) {
    refunds.inc({ model }, 0)
    refundedCredits.inc({ model }, 0)
  }
  for (const result of directResults) directRuns.inc({ result }, 0)
  for (const outcome of tryOutcomes) tries.inc({ outcome }, 0)

  return {
    request: (seen: {
      readonly route: string
      readonly method: string
      readonly status: number
      readonly durationMs: number
    }) => {
      const { route, method, status, durationMs } = seen
      requests.inc({ route, method, status })
      requestDurations.observe({ route, method }, durationMs / 1000)
    },
    upstreamCall: (seen: {
      readonly channel: string
      readonly class: OutcomeClass
      readonly reason: OutcomeReason
      readonly latencyMs: number | undefined
    }) => {
      const { channel, latencyMs, ...outcome } = seen
      calls.inc({ channel, ...outcome })
      if (latencyMs !== undefined) callDurations.observe({ channel }, latencyMs / 1000)
    },
    unknownWord: (channel: string) => unknownWords.inc({ channel }),
    finding: (finding: string, count: number) => findings.inc({ finding }, count),
    startLeft: (reason: string) => startsLeft.inc({ reason }),
    directRun: (result: DirectResult) => directRuns.inc({ result }),
    putFailed: () => putsFailed.inc(),
    refund: (ofModel: ModelId, credits: number) => {
      // A row may name any model.
      const model = models.includes(ofModel) ? ofModel : 'unknown'
      refunds.inc({ model })
      refundedCredits.inc({ model }, credits)
    },
    webhookTry: (seen: { readonly outcome: Verdict['kind']; readonly durationMs: number }) => {
      tries.inc({ outcome: seen.outcome })
      tryDurations.observe(seen.durationMs / 1000)
    },
  }
}

const tryOutcomes: readonly Verdict['kind'][] = ['delivered', 'retry', 'given_up', 'gone']

/** The reasons with which a call of each class can end. */
const expectedReasons: Readonly<Record<OutcomeClass, readonly OutcomeReason[]>> = {
  succeeded: ['image'],
  refused: [
    'rate_limited',
    'overloaded',
    'not_sent',
    'not_called',
    'inputs_unreadable',
    'credential_unreadable',
    'server_error',
  ],
  rejected: ['invalid_request', 'content_policy', 'no_image'],
  exhausted: ['quota_exhausted'],
  declined: ['forbidden', 'too_large', 'model_not_found'],
  operator_fault: ['credential', 'forbidden', 'model_not_found'],
  unknown: [
    'server_error',
    'connection_lost',
    'timeout',
    'broken_body',
    'answer_too_large',
    'unexpected_status',
    'in_progress',
  ],
}

function expectedOutcomes() {
  return Object.entries(expectedReasons).flatMap(([outcome, reasons]) =>
    reasons.map((reason) => ({ class: outcome, reason })),
  )
}
