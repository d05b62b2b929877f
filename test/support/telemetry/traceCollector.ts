import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'
import protobuf from 'protobufjs'
import { portOf } from '../upstream/testServers.ts'

/** The part of the OTLP trace messages that these tests read (opentelemetry-proto, trace.proto). */
const message = protobuf
  .parse(
    `
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
`,
  )
  .root.lookupType('Request')

type Attributes = readonly {
  readonly key: string
  readonly value: { readonly text?: string; readonly whole?: number; readonly number?: number }
}[]
type Request = {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: Attributes }
    readonly scopeSpans: readonly {
      readonly spans: readonly (Record<'traceId' | 'spanId' | 'parentSpanId', string> & {
        readonly name: string
        readonly startTimeUnixNano: number
        readonly endTimeUnixNano: number
        readonly attributes: Attributes
        readonly events: readonly { readonly name: string }[]
        readonly status: { readonly code: number } | null
      })[]
    }[]
  }[]
}

/** One exported span. Times are milliseconds, and the parent of a root span is empty. */
export type CollectedSpan = ReturnType<typeof decode>[number]

/** A collector that accepts OTLP over HTTP as protobuf and keeps every body. */
export async function startTraceCollector() {
  const bodies: Buffer[] = []
  const receive = async (incoming: IncomingMessage, response: ServerResponse) => {
    const body = await buffer(incoming)
    const zipped = incoming.headers['content-encoding'] === 'gzip'
    if (incoming.url === '/v1/traces') bodies.push(zipped ? gunzipSync(body) : body)
    response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end()
  }
  const server = createServer((incoming, response) => void receive(incoming, response))
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

function decode(body: Buffer) {
  const plain = message.toObject(message.decode(body), {
    longs: Number,
    bytes: String,
    defaults: true,
  })
  const { resourceSpans }: Request = JSON.parse(JSON.stringify(plain))
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans
      .flatMap(({ spans }) => spans)
      .map((span) => ({
        service: String(named(resource.attributes)['service.name']),
        traceId: hexOf(span.traceId),
        spanId: hexOf(span.spanId),
        parentId: hexOf(span.parentSpanId),
        name: span.name,
        startMs: span.startTimeUnixNano / 1e6,
        endMs: span.endTimeUnixNano / 1e6,
        attributes: named(span.attributes),
        events: span.events.map(({ name }) => name),
        failed: span.status?.code === 2,
      })),
  )
}

const hexOf = (base64: string) => Buffer.from(base64, 'base64').toString('hex')

function named(attributes: Attributes): Readonly<Record<string, string | number>> {
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
