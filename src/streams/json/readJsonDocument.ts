import { TextDecoder } from 'node:util'
import type { Token } from 'stream-json/core/parser.js'
import { jsonParser } from 'stream-json/core/parser.js'
import { assertNever } from '../../domain/assertNever.ts'
import type { Json } from '../../domain/json.ts'
import type { Result } from '../../domain/result.ts'
import { fail, succeed } from '../../domain/result.ts'
import type { Diverted, JsonDiversionOptions, JsonDiversions } from './diversions.ts'
import { createJsonDiversions } from './diversions.ts'
import type { BuilderEvent, JsonBuilder, JsonBuilderOptions } from './jsonBuilder.ts'
import { createJsonBuilder } from './jsonBuilder.ts'

export type ReadJsonOptions<Taken> = JsonBuilderOptions & JsonDiversionOptions<Taken>

type JsonDocument<Taken> = {
  /** Each diverted string stands in it as an empty string. */
  readonly document: Json
  /** In document order. */
  readonly diverted: readonly Diverted<Taken>[]
}

/** Fed to the parser at a time, however large the source's chunks are. */
const feedBytesMax = 16 * 1024

/**
 * Reads one JSON document from a byte stream, in memory except for the strings that `divert` names:
 * these are decoded as base64, strictly unless told otherwise, and streamed to `take` with backpressure.
 * Memory stays within the given limits whatever the body (research/reliability.md section 4, JSON;
 * section 5, body arithmetic). A leading byte-order mark is dropped. Expected failures are values;
 * errors of `source` and of `take` are thrown on, after `take` has ended.
 */
export async function readJsonDocument<Taken>(
  source: AsyncIterable<Uint8Array>,
  options: ReadJsonOptions<Taken>,
): Promise<Result<JsonDocument<Taken>, JsonIntakeFailure>> {
  const builder = createJsonBuilder(options)
  const diversions = createJsonDiversions(options)
  const feed = createFeed(builder, diversions)
  try {
    const failure = await feedAll(source, feed)
    if (failure !== undefined) return fail(failure)
  } finally {
    await diversions.abandon()
  }
  const document = builder.document()
  return document === undefined
    ? fail({ tag: 'syntax' })
    : succeed({ document, diverted: diversions.taken() })
}

type Feed = (text: string) => Promise<JsonIntakeFailure | undefined>

async function feedAll(
  source: AsyncIterable<Uint8Array>,
  feed: Feed,
): Promise<JsonIntakeFailure | undefined> {
  const decode = createDecode()
  let blank = true
  for await (const chunk of source) {
    for (let start = 0; start < chunk.length; start += feedBytesMax) {
      const text = decode(chunk.subarray(start, start + feedBytesMax))
      if (text === undefined) return { tag: 'invalid_utf8' }
      blank &&= text.trim() === ''
      const failure = await feed(text)
      if (failure !== undefined) return failure
    }
  }
  if (decode() === undefined) return { tag: 'invalid_utf8' }
  // White space ends a number or a literal at the very end, as a flush of the parser would.
  return blank ? { tag: 'empty' } : feed(' ')
}

/** Without bytes it is the end of the text. `undefined`: not UTF-8. */
function createDecode(): (bytes?: Uint8Array) => string | undefined {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  return (bytes) => {
    try {
      return bytes === undefined ? decoder.decode() : decoder.decode(bytes, { stream: true })
    } catch {
      return undefined
    }
  }
}

function createFeed<Taken>(builder: JsonBuilder, diversions: JsonDiversions<Taken>): Feed {
  const parse = createParse()
  return async (text) => {
    const tokens = parse(text)
    if (tokens === undefined) return { tag: 'syntax' }
    for (const token of tokens) {
      const event = builder.accept(token)
      if (event === undefined) continue
      if (event.kind === 'diverted_text' && !diversions.push(event.text)) continue
      const failure = await handle(event, diversions)
      if (failure !== undefined) return failure
    }
    return undefined
  }
}

/** Nothing is packed: a key or number of 100 MB must meet its limit before it is whole. */
function createParse(): (text: string) => readonly Token[] | undefined {
  const parser = jsonParser({ packValues: false, streamValues: true })
  return (text) => {
    try {
      const parsed = parser(text)
      return typeof parsed === 'symbol' ? [] : parsed.values
    } catch {
      return undefined
    }
  }
}

async function handle<Taken>(
  event: BuilderEvent,
  diversions: JsonDiversions<Taken>,
): Promise<JsonIntakeFailure | undefined> {
  switch (event.kind) {
    case 'failure':
      return event.failure
    case 'diverted_start':
      return diversions.start(event.path)
    case 'diverted_text':
      return diversions.flush()
    case 'diverted_end':
      return diversions.end()
    default:
      return assertNever(event)
  }
}

/** Keys and indices from the top of a JSON document to one value. */
export type JsonPath = readonly (string | number)[]

/**
 * Why a JSON document was not taken in. Paths name the value; nothing quotes its content. The reasons
 * are the attacks of research/reliability.md section 4, topics JSON and Base64.
 */
export type JsonIntakeFailure =
  | { readonly tag: 'empty' }
  | { readonly tag: 'syntax' }
  | { readonly tag: 'invalid_utf8' }
  | { readonly tag: 'duplicate_key'; readonly path: JsonPath }
  | { readonly tag: 'too_deep' }
  | { readonly tag: 'too_many_tokens' }
  | { readonly tag: 'number_out_of_range'; readonly path: JsonPath }
  /** NUL or a lone surrogate: PostgreSQL refuses both. */
  | { readonly tag: 'unstorable_text'; readonly path: JsonPath }
  | { readonly tag: 'text_too_long'; readonly limitBytes: number }
  | { readonly tag: 'invalid_base64'; readonly path: JsonPath }
  | { readonly tag: 'diverted_too_large'; readonly path: JsonPath; readonly limitBytes: number }
  /** The path is of the value that was too much. */
  | {
      readonly tag: 'diverted_total_too_large'
      readonly path: JsonPath
      readonly limitBytes: number
    }
  | { readonly tag: 'too_many_diverted'; readonly path: JsonPath; readonly limit: number }
