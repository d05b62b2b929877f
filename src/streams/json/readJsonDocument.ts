import { TextDecoder } from 'node:util'
import type { Token } from 'stream-json/core/parser.js'
import { jsonParser } from 'stream-json/core/parser.js'
import { assertNever } from '../../domain/assertNever.ts'
import type { Json } from '../../domain/json.ts'
import type { Result } from '../../domain/result.ts'
import { fail, succeed } from '../../domain/result.ts'
import type { Diverted, DivertedStringOptions, DivertedStrings } from './divertedStrings.ts'
import { createDivertedStrings } from './divertedStrings.ts'
import type { DocumentBuilder, DocumentEvent, DocumentOptions } from './documentBuilder.ts'
import { createDocumentBuilder } from './documentBuilder.ts'

export type ReadJsonOptions<Taken> = DocumentOptions & DivertedStringOptions<Taken>

type JsonDocument<Taken> = {
  /** Contains an empty string in the place of each diverted string. */
  readonly document: Json
  /** In document order. */
  readonly diverted: readonly Diverted<Taken>[]
}

/**
 * Reads one JSON document from a byte stream without holding its images in memory.
 *
 * The bytes go through three steps, one small portion at a time:
 * 1. This file decodes UTF-8 and splits the text into tokens with a streaming parser.
 * 2. `documentBuilder.ts` builds the document from the tokens and applies the limits. A string whose
 *    path `divert` names is not put into the document: the string is diverted.
 * 3. `divertedStrings.ts` decodes the text of a diverted string from base64 and streams the bytes to
 *    `take`. The next portion of the document is read only when `take` has dealt with the bytes before.
 *
 * Memory therefore stays within the limits in `options`, whatever the size of the body. A leading
 * byte-order mark is ignored. A document that breaks a rule is a failure value. Errors thrown by
 * `source` and by `take` are thrown on, after `take` has ended.
 */
export async function readJsonDocument<Taken>(
  source: AsyncIterable<Uint8Array>,
  options: ReadJsonOptions<Taken>,
): Promise<Result<JsonDocument<Taken>, JsonIntakeFailure>> {
  const builder = createDocumentBuilder(options)
  const strings = createDivertedStrings(options)
  const feed = createFeed(builder, strings)
  try {
    const failure = await feedAll(source, feed)
    if (failure !== undefined) return fail(failure)
  } finally {
    await strings.abandon()
  }
  const document = builder.document()
  return document === undefined
    ? fail({ tag: 'syntax' })
    : succeed({ document, diverted: strings.taken() })
}

/** Keys and indices from the top of a JSON document to one value. */
export type JsonPath = readonly (string | number)[]

/** Why a JSON document was refused. A path names the value. No failure contains the value itself. */
export type JsonIntakeFailure =
  | { readonly tag: 'empty' }
  | { readonly tag: 'syntax' }
  | { readonly tag: 'invalid_utf8' }
  | { readonly tag: 'duplicate_key'; readonly path: JsonPath }
  | { readonly tag: 'too_deep' }
  | { readonly tag: 'too_many_tokens' }
  | { readonly tag: 'number_out_of_range'; readonly path: JsonPath }
  /** NUL or a lone surrogate, which PostgreSQL cannot store as text. */
  | { readonly tag: 'unstorable_text'; readonly path: JsonPath }
  | { readonly tag: 'text_too_long'; readonly limitBytes: number }
  | { readonly tag: 'invalid_base64'; readonly path: JsonPath }
  | { readonly tag: 'diverted_too_large'; readonly path: JsonPath; readonly limitBytes: number }
  /** `path` names the string that exceeded the limit on all diverted strings together. */
  | {
      readonly tag: 'diverted_total_too_large'
      readonly path: JsonPath
      readonly limitBytes: number
    }
  | { readonly tag: 'too_many_diverted'; readonly path: JsonPath; readonly limit: number }

type Feed = (text: string) => Promise<JsonIntakeFailure | undefined>

/** The parser gets at most this much at a time, however large the chunks of the source are. */
const feedBytesMax = 16 * 1024

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
  // The parser cannot know that a top-level number or literal is complete until a space follows it.
  return blank ? { tag: 'empty' } : feed(' ')
}

/** Called without bytes at the end of the text. Returns `undefined` when the bytes are not UTF-8. */
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

function createFeed<Taken>(builder: DocumentBuilder, strings: DivertedStrings<Taken>): Feed {
  const parse = createParse()
  return async (text) => {
    const tokens = parse(text)
    if (tokens === undefined) return { tag: 'syntax' }
    for (const token of tokens) {
      const event = builder.accept(token)
      if (event === undefined) continue
      if (event.kind === 'diverted_text' && !strings.push(event.text)) continue
      const failure = await handle(event, strings)
      if (failure !== undefined) return failure
    }
    return undefined
  }
}

/** Returns `undefined` when the text is not JSON. */
function createParse(): (text: string) => readonly Token[] | undefined {
  // Packed values would hold a key or number of 100 MB whole before any limit could refuse it.
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
  event: DocumentEvent,
  strings: DivertedStrings<Taken>,
): Promise<JsonIntakeFailure | undefined> {
  switch (event.kind) {
    case 'failure':
      return event.failure
    case 'diverted_start':
      return strings.start(event.path)
    case 'diverted_text':
      return strings.flush()
    case 'diverted_end':
      return strings.end()
    default:
      return assertNever(event)
  }
}
