import { once } from 'node:events'
import { createServer } from 'node:http'
import { gunzipSync } from 'node:zlib'
import protobuf from 'protobufjs'
import { z } from 'zod'
import { portOf } from '../upstream/testServers.ts'

/** One exported span. Times are milliseconds. */
export type CollectedSpan = {
  readonly service: string
  readonly traceId: string
  readonly spanId: string
  /** Empty for a root span. */
  readonly parentId: string
  readonly name: string
  readonly startMs: number
  readonly endMs: number
  readonly attributes: Readonly<Record<string, string | number>>
  /** The names of the span's events. */
  readonly events: readonly string[]
  readonly failed: boolean
}

/** The part of the OTLP trace messages that these tests read (opentelemetry-proto, trace.proto). */
const otlp = protobuf.parse(`
  syntax = "proto3";
  message Request { repeated ResourceSpans resourceSpans = 1; }
  message ResourceSpans { Resource resource = 1; repeated ScopeSpans scopeSpans = 2; }
  message Resource { repeated KeyValue attributes = 1; }
  message ScopeSpans { repeated Span spans = 2; }
  message Span {
    bytes traceId = 1; bytes spanId = 2; bytes parentSpanId = 4; string name = 5;
    fixed64 startTimeUnixNano = 7; fixed64 endTimeUnixNano = 8;
    repeated KeyValue attributes = 9; repeated Event events = 11; Status status = 15;
  }
  message Event { string name = 2; }
  message Status { int32 code = 3; }
  message KeyValue { string key = 1; Value value = 2; }
  message Value { oneof of { string text = 1; bool flag = 2; int64 whole = 3; double number = 4; } }
`).root

const attribute = z.object({
  key: z.string(),
  value: z.object({ text: z.string(), whole: z.number(), number: z.number() }).partial(),
})
const hex = z.instanceof(Uint8Array).transform((bytes) => Buffer.from(bytes).toString('hex'))
const request = z.object({
  resourceSpans: z.array(
    z.object({
      resource: z.object({ attributes: z.array(attribute) }),
      scopeSpans: z.array(
        z.object({
          spans: z.array(
            z.object({
              traceId: hex,
              spanId: hex,
              parentSpanId: hex.default(''),
              name: z.string(),
              startTimeUnixNano: z.number(),
              endTimeUnixNano: z.number(),
              attributes: z.array(attribute).default([]),
              events: z.array(z.object({ name: z.string() })).default([]),
              status: z.object({ code: z.number().default(0) }).default({ code: 0 }),
            }),
          ),
        }),
      ),
    }),
  ),
})

/** A collector that accepts OTLP over HTTP as protobuf and keeps every body. */
export async function startTraceCollector() {
  const bodies: Buffer[] = []
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = []
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
    incoming.on('end', () => {
      const body = Buffer.concat(chunks)
      const zipped = incoming.headers['content-encoding'] === 'gzip'
      if (incoming.url === '/v1/traces') bodies.push(zipped ? gunzipSync(body) : body)
      response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end()
    })
  })
  const port = await portOf(server)
  return {
    url: `http://127.0.0.1:${port}`,
    /** All bodies as bytes. */
    raw: () => Buffer.concat(bodies),
    spans: () => bodies.flatMap(decode),
    close: async () => {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

function decode(body: Buffer): readonly CollectedSpan[] {
  const type = otlp.lookupType('Request')
  const plain: unknown = type.toObject(type.decode(body), { longs: Number, bytes: Uint8Array })
  return request.parse(plain).resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans
      .flatMap(({ spans }) => spans)
      .map((span) => ({
        service: String(named(resource.attributes)['service.name']),
        traceId: span.traceId,
        spanId: span.spanId,
        parentId: span.parentSpanId,
        name: span.name,
        startMs: span.startTimeUnixNano / 1e6,
        endMs: span.endTimeUnixNano / 1e6,
        attributes: named(span.attributes),
        events: span.events.map(({ name }) => name),
        failed: span.status.code === 2,
      })),
  )
}

function named(attributes: readonly z.infer<typeof attribute>[]): Record<string, string | number> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [key, value.text ?? value.whole ?? value.number ?? '']),
  )
}

/** Prints the spans below a parent as an indented tree, each with its attributes except ids. */
export function treeOf(spans: readonly CollectedSpan[], parentId = '', depth = 0): string {
  return spans
    .filter((span) => span.parentId === parentId)
    .toSorted((one, other) => one.startMs - other.startMs)
    .map((span) => {
      const line = `${'  '.repeat(depth)}${span.service}: ${span.name} [${attributesOf(span)}]`
      return `${line}\n${treeOf(spans, span.spanId, depth + 1)}`
    })
    .join('')
}

const printed = [
  'darkroom.attempt',
  'darkroom.channel',
  'darkroom.model',
  'darkroom.class',
  'darkroom.reason',
  'http.response.status_code',
]

function attributesOf({ attributes }: CollectedSpan): string {
  return printed.flatMap((key) => attributes[key] ?? []).join(' ')
}
