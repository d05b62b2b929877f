import type { Context, Tracer } from '@opentelemetry/api'
import { ROOT_CONTEXT, SpanKind, SpanStatusCode, TraceFlags, trace } from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { setTimeout as sleep } from 'node:timers/promises'
import { defined } from '../domain/defined.ts'
import type { TaskAdmin } from '../store/tasks/taskStore.ts'
import type { TaskDetail } from '../store/tasks/readTaskDetail.ts'
import type { OutcomeClass } from '../domain/upstream/upstreamCall.ts'

export type Tracing = {
  /** Exports the trace of a task that has just ended. Never throws and never waits. */
  readonly taskEnded: (taskId: string) => void
  /** Sends the remaining spans. Takes ten seconds at most. */
  readonly close: () => Promise<void>
}

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
  readonly readTaskDetail: TaskAdmin['readTaskDetail']
  readonly onError: (taskId: string, error: unknown) => void
}): Tracing {
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
  const exportTask = async (taskId: string) => {
    const detail = await deps.readTaskDetail(taskId)
    if (detail !== undefined) recordTrace(tracer, detail)
  }
  return {
    taskEnded: (taskId) => {
      reading = reading
        .then(() => exportTask(taskId))
        .catch((error: unknown) => deps.onError(taskId, error))
    },
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
  const { task, acceptedAtMs, traceparent, timeline } = detail
  const { taskId, accountId, model, route, status, failure, completedAtMs } = task
  if (completedAtMs === undefined) return
  const attributes = {
    'darkroom.task_id': taskId,
    'darkroom.account_id': accountId,
    'darkroom.model': model,
    'darkroom.route': route,
    'darkroom.class': failure?.code ?? status,
  }
  const root = tracer.startSpan(
    'image task',
    { kind: SpanKind.SERVER, startTime: acceptedAtMs, attributes },
    contextOf(traceparent),
  )
  for (const { event, atMs } of timeline) {
    // What follows the end, such as a delivery to a webhook, is not part of the trace.
    const isPart = atMs <= completedAtMs && !event.startsWith('attempt_')
    if (isPart) root.addEvent(event, atMs)
  }
  recordCalls(tracer, trace.setSpan(ROOT_CONTEXT, root), detail, completedAtMs)
  if (failure !== undefined && failure.code !== 'cancelled') root.setStatus(failed)
  root.end(completedAtMs)
}

/** Makes the spans below that of the task. A call that was still open at the task's end gets no class. */
function recordCalls(
  tracer: Tracer,
  within: Context,
  { task, acceptedAtMs, timeline }: TaskDetail,
  endedAtMs: number,
): void {
  let waitsSinceMs = acceptedAtMs
  const waitUntil = (atMs: number) => {
    if (atMs > waitsSinceMs) tracer.startSpan('wait', { startTime: waitsSinceMs }, within).end(atMs)
  }
  const closed = timeline.filter(({ event }) => event === 'attempt_closed')
  for (const opened of timeline.filter(({ event }) => event === 'attempt_opened')) {
    const { attempt, channel, via } = opened.detail
    const close = closed.find(({ detail }) => detail['attempt'] === attempt)
    const outcome = close?.detail ?? {}
    waitUntil(opened.atMs)
    const attributes = defined({
      'darkroom.attempt': attempt,
      'darkroom.channel': channel,
      'darkroom.model': task.model,
      'darkroom.via': via,
      'darkroom.class': outcome['class'],
      'darkroom.reason': outcome['reason'],
      'http.response.status_code': outcome['http_status'],
    })
    const options = { kind: SpanKind.CLIENT, startTime: opened.atMs, attributes }
    const span = tracer.startSpan('upstream call', options, within)
    if (badClasses.has(outcome['class'])) span.setStatus(failed)
    waitsSinceMs = close?.atMs ?? endedAtMs
    span.end(waitsSinceMs)
  }
  waitUntil(endedAtMs)
}

const failed = { code: SpanStatusCode.ERROR }

/**
 * Outcomes of a call whose span is marked as failed. `refused` is not among them, because an upstream's
 * refusal is normal: the task waits and calls again.
 */
const badClasses: ReadonlySet<unknown> = new Set<OutcomeClass>([
  'unknown',
  'operator_fault',
  'exhausted',
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
