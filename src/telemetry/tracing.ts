import type { Context, Tracer } from '@opentelemetry/api'
import { ROOT_CONTEXT, SpanKind, SpanStatusCode, TraceFlags, trace } from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { setTimeout as sleep } from 'node:timers/promises'
import { defined } from '../domain/defined.ts'
import type { TaskDetail } from '../store/tasks/readTaskDetail.ts'
import type { OutcomeClass } from '../domain/upstream/upstreamCall.ts'

/** Limit for one request to the collector, and for reading the last tasks when the process stops. */
const exportTimeoutMs = 5_000
const batchDelayMs = 1_000
/**
 * Limit for spans that are not sent yet. Beyond it, new spans are dropped, so that a slow collector does not
 * fill our memory.
 */
const queuedMax = 4_096

/**
 * Exports one trace per task, at the task's end, over OTLP/HTTP (protobuf). The exporter reads the collector's address
 * and headers from the OTEL_EXPORTER_OTLP_* variables. This file loads the OpenTelemetry libraries, so import it only
 * when a collector is configured.
 */
export function createTracing(deps: {
  readonly process: 'api' | 'worker'
  readonly readTaskDetail: (taskId: string) => Promise<TaskDetail | undefined>
  readonly onError: (taskId: string, error: unknown) => void
}) {
  const processor = new BatchSpanProcessor({
    exporter: new OTLPTraceExporter({ timeoutMillis: exportTimeoutMs }),
    scheduledDelayMillis: batchDelayMs,
    exportTimeoutMillis: exportTimeoutMs,
    maxQueueSize: queuedMax,
  })
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': `darkroom-${deps.process}` }),
    spanProcessors: [processor],
  })
  const tracer = provider.getTracer('darkroom')
  // One task after the other, so that very many ends at once keep no more than one connection to PostgreSQL.
  let reading = Promise.resolve()
  return {
    /** Exports the trace of a task that has just ended. Never throws and never waits. */
    taskEnded: (taskId: string): void => {
      reading = reading
        .then(() => deps.readTaskDetail(taskId))
        .then((detail) => detail && recordTrace(tracer, detail))
        .catch((error: unknown) => deps.onError(taskId, error))
    },
    /** Sends the remaining spans. Takes ten seconds at most. */
    close: async () => {
      await Promise.race([reading, sleep(exportTimeoutMs, undefined, { ref: false })])
      await provider.shutdown().catch(() => {})
    },
  }
}

/**
 * Makes the spans of an ended task from its timeline: one for the whole task, with the other events in it, and below
 * it one for each upstream call and for each wait without a call. All attributes are ids, names and numbers of ours.
 * Do not add texts of a client or of an upstream, because traces leave the installation.
 */
function recordTrace(tracer: Tracer, detail: TaskDetail): void {
  const { task, summary, acceptedAtMs, timeline } = detail
  const { taskId, accountId, model, route, status, failure, completedAtMs } = task
  if (completedAtMs === undefined) return
  const attributes = {
    'darkroom.task_id': taskId,
    'darkroom.account_id': accountId,
    'darkroom.model': model,
    'darkroom.route': route,
    'darkroom.class': failure?.code ?? status,
  }
  const options = { kind: SpanKind.SERVER, startTime: acceptedAtMs, attributes }
  const root = tracer.startSpan('image task', options, contextOf(summary.traceparent))
  const within = trace.setSpan(ROOT_CONTEXT, root)
  let waitsSinceMs = acceptedAtMs
  const waitUntil = (atMs: number) => {
    if (atMs > waitsSinceMs) tracer.startSpan('wait', { startTime: waitsSinceMs }, within).end(atMs)
  }
  // What follows the end, such as a delivery to a webhook, is not part of the trace.
  for (const { event, atMs, detail } of timeline.filter(({ atMs }) => atMs <= completedAtMs)) {
    if (event === 'attempt_opened') {
      waitUntil(atMs)
      // A call that was still open at the task's end gets no class.
      const close = timeline.find(
        (each) => each.event === 'attempt_closed' && each.detail['attempt'] === detail['attempt'],
      )
      waitsSinceMs = close?.atMs ?? completedAtMs
      const startTime = atMs
      const outcome = close?.detail ?? {}
      const attributes = defined({
        'darkroom.attempt': detail['attempt'],
        'darkroom.channel': detail['channel'],
        'darkroom.model': model,
        'darkroom.via': detail['via'],
        'darkroom.class': outcome['class'],
        'darkroom.reason': outcome['reason'],
        'http.response.status_code': outcome['http_status'],
      })
      const options = { kind: SpanKind.CLIENT, startTime, attributes }
      const span = tracer.startSpan('upstream call', options, within)
      if (badClasses.has(outcome['class'])) span.setStatus(failed)
      span.end(waitsSinceMs)
    } else if (event !== 'attempt_closed') root.addEvent(event, atMs)
  }
  waitUntil(completedAtMs)
  if (failure !== undefined && failure.code !== 'cancelled') root.setStatus(failed)
  root.end(completedAtMs)
}

const failed = { code: SpanStatusCode.ERROR }

/** `refused` is not among them, because an upstream's refusal is normal: the task waits and calls again. */
const badClasses: ReadonlySet<unknown> = new Set<OutcomeClass>([
  'unknown',
  'operator_fault',
  'exhausted',
  'declined',
])

/**
 * The span of the client that asked is the parent. The trace is exported whatever the client's sampling flag says,
 * because it is the operator's.
 */
function contextOf(traceparent: string | undefined): Context {
  const [, traceId, spanId] = traceparent?.split('-') ?? []
  if (traceId === undefined || spanId === undefined) return ROOT_CONTEXT
  const parent = { traceId, spanId, traceFlags: TraceFlags.SAMPLED, isRemote: true }
  return trace.setSpanContext(ROOT_CONTEXT, parent)
}
