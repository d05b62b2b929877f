import type { Token } from 'stream-json/core/parser.js'
import { assertNever } from '../../domain/assertNever.ts'
import type { Json } from '../../domain/json.ts'
import type { JsonIntakeFailure, JsonPath } from '../intakeFailure.ts'
import type { TextGatherer } from './textGatherer.ts'
import { createTextGatherer } from './textGatherer.ts'

export type DocumentOptions = {
  /** Called once at the start of each string value. Returns true to divert the string. */
  readonly divert: (path: JsonPath) => boolean
  readonly depthMax: number
  /** Limit for the number of keys, array items and values together. */
  readonly tokensMax: number
  /** Limit for the bytes of all keys, numbers and strings that stay in the document: see `jsonTextBytes`. */
  readonly textBytesMax: number
  /** What to do when an object has the same key twice: refuse the document, or use the last value. */
  readonly equalKeys: 'refuse' | 'last'
  /** What to do with NUL and lone surrogates. PostgreSQL cannot store them as text. */
  readonly unstorableText: 'refuse' | 'replace'
}

export type DocumentEvent =
  | { readonly kind: 'diverted_start'; readonly path: JsonPath }
  | { readonly kind: 'diverted_text'; readonly text: string }
  | { readonly kind: 'diverted_end' }
  | { readonly kind: 'failure'; readonly failure: JsonIntakeFailure }

export type DocumentBuilder = {
  /**
   * Takes the next token. Returns what the caller must do, or `undefined` to continue with the next token.
   */
  readonly accept: (token: Token) => DocumentEvent | undefined
  /** Returns the whole document, or `undefined` as long as a part of it is missing. */
  readonly document: () => Json | undefined
  /** Returns whether the string that is arriving is diverted. */
  readonly isDiverting: () => boolean
  /** Returns the bytes of the texts so far: see `jsonTextBytes`. */
  readonly textBytes: () => number
}

/**
 * Builds a document from parser tokens and applies the limits in `options`. This is step 2 of
 * `readJsonDocument`. The parser must deliver keys, strings and numbers in chunks, and must not pack them.
 */
export function createDocumentBuilder(options: DocumentOptions): DocumentBuilder {
  const build: Build = {
    options,
    open: [],
    root: undefined,
    tokens: 0,
    text: createTextGatherer(),
    textBytes: 0,
    diverting: false,
  }
  return {
    accept: (token) => accept(build, token),
    document: () => (build.open.length === 0 ? build.root : undefined),
    isDiverting: () => build.diverting,
    textBytes: () => build.textBytes,
  }
}

type Build = {
  readonly options: DocumentOptions
  /** The objects and arrays that have begun and not ended, the outermost first. */
  readonly open: Container[]
  root: Json | undefined
  tokens: number
  /** Gathers the key, string or number whose chunks are arriving. */
  readonly text: TextGatherer
  textBytes: number
  /** True when the string that is arriving is diverted. */
  diverting: boolean
}

type Container =
  /** `key` is the key of the next value. */
  | { readonly kind: 'object'; readonly members: { [key: string]: Json }; key: string }
  | { readonly kind: 'array'; readonly items: Json[] }

function accept(build: Build, token: Token): DocumentEvent | undefined {
  switch (token.name) {
    case 'startObject':
      return failed(open(build, { kind: 'object', members: {}, key: '' }))
    case 'startArray':
      return failed(open(build, { kind: 'array', items: [] }))
    case 'endObject':
    case 'endArray':
      return failed(close(build))
    case 'startString':
      return startString(build)
    case 'stringChunk':
    case 'numberChunk':
      return addChunk(build, token.value)
    case 'endString':
      return endString(build)
    case 'endKey':
      return failed(endKey(build))
    case 'endNumber':
      return failed(endNumber(build))
    case 'nullValue':
    case 'trueValue':
    case 'falseValue':
      return failed(place(build, token.value))
    case 'startKey':
    case 'startNumber':
    case 'whitespace':
      return undefined
    case 'keyValue':
    case 'stringValue':
    case 'numberValue':
      throw new Error('Bug: the parser was told not to pack values')
    default:
      return assertNever(token)
  }
}

function failed(failure: JsonIntakeFailure | undefined): DocumentEvent | undefined {
  return failure === undefined ? undefined : { kind: 'failure', failure }
}

function open(build: Build, container: Container): JsonIntakeFailure | undefined {
  build.open.push(container)
  return build.open.length > build.options.depthMax ? { tag: 'too_deep' } : undefined
}

function close(build: Build): JsonIntakeFailure | undefined {
  const container = build.open.pop()
  if (container === undefined) throw new Error('Bug: the parser closed what it had not opened')
  return place(build, container.kind === 'object' ? container.members : container.items)
}

/** Puts a complete value into the innermost open container. */
function place(build: Build, value: Json): JsonIntakeFailure | undefined {
  const container = build.open.at(-1)
  if (container === undefined) build.root = value
  else if (container.kind === 'array') container.items.push(value)
  else setMember(container.members, container.key, value)
  build.tokens += 1
  return build.tokens > build.options.tokensMax ? { tag: 'too_many_tokens' } : undefined
}

/**
 * Sets a member of an object. For the key `__proto__`, a plain assignment would replace the prototype of the
 * object.
 */
function setMember(members: { [key: string]: Json }, key: string, value: Json): void {
  if (key === '__proto__') {
    const attributes = { enumerable: true, writable: true, configurable: true }
    Object.defineProperty(members, key, { value, ...attributes })
  } else members[key] = value
}

/** Returns the path of the next value. */
function pathOf({ open }: Build): JsonPath {
  return open.map((container) =>
    container.kind === 'object' ? container.key : container.items.length,
  )
}

function startString(build: Build): DocumentEvent | undefined {
  const path = pathOf(build)
  build.diverting = build.options.divert(path)
  return build.diverting ? { kind: 'diverted_start', path } : undefined
}

function addChunk(build: Build, chunk: string): DocumentEvent | undefined {
  if (build.diverting) return { kind: 'diverted_text', text: chunk }
  const limitBytes = build.options.textBytesMax
  build.textBytes += jsonTextBytes(chunk)
  if (build.textBytes > limitBytes) return failed({ tag: 'text_too_long', limitBytes })
  build.text.push(chunk)
  return undefined
}

/** The characters that JSON must escape, and a few more control characters. */
const escapedInJson = /["\\\p{Cc}]/u

/**
 * The bytes of a text as it is stored and sent upstream: UTF-8 with the escapes of JSON, without the quotes.
 * There a control character can have six bytes, although a form sends it in one. The pieces of a text together
 * have no fewer bytes than the whole text.
 */
export function jsonTextBytes(text: string): number {
  // The parser delivers each escaped character alone, and there can be millions of them.
  if (text.length === 1) return jsonCharacterBytes(text.charCodeAt(0))
  // The escapes that JSON writes for lone surrogates do not count: no such text is stored.
  if (!escapedInJson.test(text)) return Buffer.byteLength(text)
  return Buffer.byteLength(JSON.stringify(text.toWellFormed())) - '""'.length
}

/** Returns the bytes of one UTF-16 code unit. A surrogate, which is half of a character, counts as U+FFFD. */
function jsonCharacterBytes(unit: number): number {
  if (unit === 0x22 || unit === 0x5c || (unit >= 0x08 && unit <= 0x0d && unit !== 0x0b)) return 2
  if (unit < 0x20) return 6
  return unit < 0x80 ? 1 : unit < 0x800 ? 2 : 3
}

function endString(build: Build): DocumentEvent | undefined {
  if (build.diverting) {
    build.diverting = false
    return failed(place(build, '')) ?? { kind: 'diverted_end' }
  }
  const text = takeStorable(build)
  if (text === undefined) return failed({ tag: 'unstorable_text', path: pathOf(build) })
  return failed(place(build, text))
}

function endKey(build: Build): JsonIntakeFailure | undefined {
  const key = takeStorable(build)
  const object = build.open.at(-1)
  if (object?.kind !== 'object') throw new Error('Bug: a key outside of an object')
  // The key contains text that must not be shown. So the path leads to the object that contains the key.
  if (key === undefined) return { tag: 'unstorable_text', path: pathOf(build).slice(0, -1) }
  object.key = key
  if (build.options.equalKeys === 'refuse' && Object.hasOwn(object.members, key)) {
    return { tag: 'duplicate_key', path: pathOf(build) }
  }
  build.tokens += 1
  return undefined
}

function endNumber(build: Build): JsonIntakeFailure | undefined {
  const value = Number(build.text.take())
  if (Number.isFinite(value)) return place(build, value)
  return { tag: 'number_out_of_range', path: pathOf(build) }
}

/**
 * Returns the gathered text. When PostgreSQL cannot store the text, replaces the bad characters or returns
 * `undefined`, as `unstorableText` says.
 */
function takeStorable({ text, options }: Build): string | undefined {
  const whole = text.take()
  if (whole.isWellFormed() && !whole.includes('\0')) return whole
  if (options.unstorableText === 'refuse') return undefined
  return whole.toWellFormed().replaceAll('\0', '\uFFFD')
}
