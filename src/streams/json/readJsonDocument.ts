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
import type { JsonIntakeFailure } from '../intakeFailure.ts'

export type ReadJsonOptions<Taken> = DocumentOptions &
  DivertedStringOptions<Taken> & {
    /**
     * Called after each portion. `bytes` is the size so far of all keys, numbers and strings that stay in the
     * document. The next portion is read only after it has resolved, so the callee can take room in memory for them.
     */
    readonly coverTexts?: (bytes: number) => Promise<void>
  }

type JsonDocument<Taken> = {
  /** The document with an empty string in the place of each diverted string. */
  readonly document: Json
  /** The diverted strings, in document order. */
  readonly diverted: readonly Diverted<Taken>[]
}

/**
 * Reads one JSON document from a stream of bytes, without keeping its images in memory.
 *
 * The bytes go through three steps, one small portion at a time:
 * 1. This file decodes UTF-8 and splits the text into tokens with a streaming parser.
 * 2. `documentBuilder.ts` builds the document from the tokens and applies the limits. When `divert` returns
 *    true for the path of a string, that string is diverted: it is not put into the document.
 * 3. `divertedStrings.ts` decodes a diverted string from base64 and streams the bytes to `take`. The next
 *    portion of the document is read only when `take` has processed the bytes so far.
 *
 * So memory use stays within the limits in `options`, whatever the size of the body. A byte-order mark at the
 * start is ignored. A document that breaks a rule results in a failure value. When `source`, `take` or
 * `coverTexts` throws, waits until `take` has ended and then throws the same error.
 */
export async function readJsonDocument<Taken>(
  source: AsyncIterable<Uint8Array>,
  options: ReadJsonOptions<Taken>,
): Promise<Result<JsonDocument<Taken>, JsonIntakeFailure>> {
  const builder = createDocumentBuilder(options)
  const strings = createDivertedStrings(options)
  const feed = createFeed(builder, strings, options.coverTexts)
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

type Feed = (text: string) => Promise<JsonIntakeFailure | undefined>

/** Limit for the bytes that the parser gets at a time. The chunks of the source may be larger. */
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
  // The parser needs one more character to know that a number or a literal at the top level is complete.
  return blank ? { tag: 'empty' } : feed(' ')
}

/**
 * Creates a function that decodes UTF-8. Call it without bytes at the end of the text. It returns `undefined`
 * when the bytes are not UTF-8.
 */
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

function createFeed<Taken>(
  builder: DocumentBuilder,
  strings: DivertedStrings<Taken>,
  coverTexts: ReadJsonOptions<Taken>['coverTexts'],
): Feed {
  const parse = createParse()
  let parsedEnd = ''

  /**
   * While a diverted string is arriving, passes its text up to the next quote or escape directly to `strings`, without
   * the parser. This saves time: most of a body of megabytes is one string of base64, and the parser would cut it into
   * tokens of 256 characters. Returns the rest of the text, which the parser must read, or a failure.
   */
  async function divert(text: string): Promise<string | JsonIntakeFailure> {
    // The parser may wait for the rest of an escape, which has up to six characters.
    if (!builder.isDiverting() || parsedEnd.includes('\\')) return text
    const end = Math.min(indexIn(text, '"'), indexIn(text, '\\'))
    const failure = strings.pushRaw(text.slice(0, end)) ? await strings.flush() : undefined
    return failure ?? text.slice(end)
  }

  return async (whole) => {
    const text = await divert(whole)
    if (typeof text !== 'string') return text
    parsedEnd = (parsedEnd + text).slice(-escapeCharsMax)
    const tokens = text === '' ? [] : parse(text)
    if (tokens === undefined) return { tag: 'syntax' }
    for (const token of tokens) {
      const event = builder.accept(token)
      if (event === undefined) continue
      if (event.kind === 'diverted_text' && !strings.push(event.text)) continue
      const failure = await handle(event, strings)
      if (failure !== undefined) return failure
    }
    await coverTexts?.(builder.textBytes())
    return undefined
  }
}

/** Returns the first position of a character, or the length of the text. */
function indexIn(text: string, character: string): number {
  const found = text.indexOf(character)
  return found === -1 ? text.length : found
}

const escapeCharsMax = 6

/** Creates a function that parses text into tokens. It returns `undefined` when the text is not JSON. */
function createParse(): (text: string) => readonly Token[] | undefined {
  // Values come in chunks, not packed. A packed key or number of 100 MB would be completely in memory before
  // any limit could stop it.
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
