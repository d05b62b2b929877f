import type { Span, SpanContext, Tracer } from '@opentelemetry/api'
import { ROOT_CONTEXT, SpanKind, SpanStatusCode, TraceFlags, trace } from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { BatchSpanProcessor, RandomIdGenerator, TracerProvider } from '@opentelemetry/sdk-trace'
import { defined } from '../domain/defined.ts'

/** All attributes that a span may have. A test checks that no other attributes are exported. */
type SpanAttributes = {
  readonly 'darkroom.task_id': string
  readonly 'darkroom.account_id'?: string
  readonly 'darkroom.model'?: string
  readonly 'darkroom.channel'?: string
  readonly 'darkroom.attempt'?: number
  readonly 'darkroom.class'?: string
  readonly 'darkroom.reason'?: string
  readonly 'http.route'?: string
  readonly 'http.request.method'?: string
  readonly 'http.response.status_code'?: number
}

type SpanStart = {
  readonly name: string
  readonly kind: 'server' | 'client' | 'internal'
  readonly traceId: string
  /** Default: a random id. */
  readonly spanId?: string
  /** The id of the parent span. A span without a parent is a root. */
  readonly parentId?: string
  /** Epoch milliseconds. Default: now. */
  readonly startedAtMs?: number
  readonly attributes: SpanAttributes
}

export type OpenSpan = {
  readonly spanId: string
  readonly end: (ending: {
    readonly attributes?: Partial<SpanAttributes>
    readonly failed: boolean
    /** Epoch milliseconds. Default: now. */
    readonly endedAtMs?: number
  }) => void
}

export type Spans = {
  readonly start: (start: SpanStart) => OpenSpan
  /** Sends the remaining spans. Takes a few seconds at most. */
  readonly close: () => Promise<void>
}

const exportTimeoutMs = 5_000
const batchDelayMs = 1_000
/**
 * Limit for spans that are not sent yet. Beyond it, new spans are dropped, so that a slow collector does not
 * fill our memory.
 */
const queuedMax = 4_096

/**
 * Exports spans over OTLP/HTTP (protobuf). The exporter reads the collector's address and headers from the
 * OTEL_EXPORTER_OTLP_* variables.
 */
export function createSpans(serviceName: string): Spans {
  const ids = createIdGenerator()
  const exporter = new OTLPTraceExporter({ timeoutMillis: exportTimeoutMs })
  const processor = new BatchSpanProcessor({
    exporter,
    scheduledDelayMillis: batchDelayMs,
    exportTimeoutMillis: exportTimeoutMs,
    maxQueueSize: queuedMax,
  })
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': serviceName }),
    idGenerator: ids,
    spanProcessors: [processor],
  })
  const tracer = provider.getTracer('darkroom')
  return {
    start: (start) => openSpan(ids.next(start, () => startSpan(tracer, start))),
    close: () => provider.shutdown().catch(() => {}),
  }
}

/**
 * Creates the generator that the library asks for ids while it makes a span. `next` makes one span with given
 * ids.
 */
function createIdGenerator() {
  const random = new RandomIdGenerator()
  let given: { readonly traceId: string; readonly spanId?: string } | undefined
  return {
    generateTraceId: () => given?.traceId ?? random.generateTraceId(),
    generateSpanId: () => given?.spanId ?? random.generateSpanId(),
    next: (ids: { readonly traceId: string; readonly spanId?: string }, make: () => Span): Span => {
      given = ids
      try {
        return make()
      } finally {
        given = undefined
      }
    },
  }
}

const kinds = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  internal: SpanKind.INTERNAL,
} as const

function startSpan(tracer: Tracer, start: SpanStart): Span {
  const { name, kind, traceId, parentId, startedAtMs, attributes } = start
  const options = {
    kind: kinds[kind],
    attributes: { ...attributes },
    ...defined({ startTime: startedAtMs }),
  }
  if (parentId === undefined) return tracer.startSpan(name, options, ROOT_CONTEXT)
  const parent: SpanContext = {
    traceId,
    spanId: parentId,
    traceFlags: TraceFlags.SAMPLED,
    isRemote: true,
  }
  return tracer.startSpan(name, options, trace.setSpanContext(ROOT_CONTEXT, parent))
}

function openSpan(span: Span): OpenSpan {
  return {
    spanId: span.spanContext().spanId,
    end: ({ attributes, failed, endedAtMs }) => {
      if (attributes !== undefined) span.setAttributes({ ...attributes })
      if (failed) span.setStatus({ code: SpanStatusCode.ERROR })
      span.end(endedAtMs)
    },
  }
}
