import type { Token } from 'stream-json/core/parser.js'
import { assertNever } from '../domain/assertNever.ts'
import type { Json } from '../domain/imageRequest.ts'
import type { JsonIntakeFailure, JsonPath } from './jsonIntakeFailure.ts'
import { createTextGatherer } from './textGatherer.ts'

export type JsonBuilderOptions = {
  /** Asked once at the start of each string value; true takes its text out of the document. */
  readonly divert: (path: JsonPath) => boolean
  readonly depthMax: number
  /** Keys, array items and values together. */
  readonly tokensMax: number
  /** UTF-8 bytes of all keys, numbers and strings that stay in the document. */
  readonly textBytesMax: number
  /** What to do with NUL and lone surrogates, which no database text can hold. */
  readonly unstorableText: 'refuse' | 'replace'
}

export type BuilderEvent =
  | { readonly kind: 'diverted_start'; readonly path: JsonPath }
  | { readonly kind: 'diverted_text'; readonly text: string }
  | { readonly kind: 'diverted_end' }
  | { readonly kind: 'failure'; readonly failure: JsonIntakeFailure }

export type JsonBuilder = {
  readonly accept: (token: Token) => BuilderEvent | undefined
  /** The whole document; `undefined` while anything of it is missing. */
  readonly document: () => Json | undefined
}

type Container =
  | { readonly kind: 'object'; readonly members: { [key: string]: Json }; key: string }
  | { readonly kind: 'array'; readonly items: Json[] }

/** Builds a document from parser tokens (keys, strings and numbers unpacked), inside bounds. */
export function createJsonBuilder(options: JsonBuilderOptions): JsonBuilder {
  const open: Container[] = []
  const text = createTextGatherer()
  let mode: 'text' | 'diverted' = 'text'
  let root: Json | undefined
  let tokens = 0
  let textBytes = 0

  const path = (): (string | number)[] =>
    open.map((container) => (container.kind === 'object' ? container.key : container.items.length))

  function failed(failure: JsonIntakeFailure): BuilderEvent {
    return { kind: 'failure', failure }
  }

  function place(value: Json): BuilderEvent | undefined {
    const container = open.at(-1)
    if (container === undefined) root = value
    else if (container.kind === 'array') container.items.push(value)
    else setMember(container.members, container.key, value)
    tokens += 1
    return tokens > options.tokensMax ? failed({ tag: 'too_many_tokens' }) : undefined
  }

  function enter(container: Container): BuilderEvent | undefined {
    open.push(container)
    return open.length > options.depthMax ? failed({ tag: 'too_deep' }) : undefined
  }

  function leave(): BuilderEvent | undefined {
    const container = open.pop()
    if (container === undefined) throw new Error('Bug: the parser closed what it had not opened')
    return place(container.kind === 'object' ? container.members : container.items)
  }

  function startString(): BuilderEvent | undefined {
    const at = path()
    if (!options.divert(at)) return undefined
    mode = 'diverted'
    return { kind: 'diverted_start', path: at }
  }

  function chunk(value: string): BuilderEvent | undefined {
    if (mode === 'diverted') return { kind: 'diverted_text', text: value }
    textBytes += Buffer.byteLength(value)
    if (textBytes > options.textBytesMax) {
      return failed({ tag: 'text_too_long', limitBytes: options.textBytesMax })
    }
    text.push(value)
    return undefined
  }

  /** The gathered text, or `undefined` when it may not be stored. */
  function storable(): string | undefined {
    const whole = text.take()
    if (whole.isWellFormed() && !whole.includes('\0')) return whole
    if (options.unstorableText === 'refuse') return undefined
    return whole.toWellFormed().replaceAll('\0', '\uFFFD')
  }

  function endString(): BuilderEvent | undefined {
    if (mode === 'diverted') {
      mode = 'text'
      return place('') ?? { kind: 'diverted_end' }
    }
    const whole = storable()
    return whole === undefined ? failed({ tag: 'unstorable_text', path: path() }) : place(whole)
  }

  function endKey(): BuilderEvent | undefined {
    const container = open.at(-1)
    if (container?.kind !== 'object') throw new Error('Bug: a key outside of an object')
    const key = storable()
    container.key = ''
    if (key === undefined) return failed({ tag: 'unstorable_text', path: path().slice(0, -1) })
    container.key = key
    if (Object.hasOwn(container.members, key)) return failed({ tag: 'duplicate_key', path: path() })
    tokens += 1
    return undefined
  }

  function endNumber(): BuilderEvent | undefined {
    const value = Number(text.take())
    return Number.isFinite(value)
      ? place(value)
      : failed({ tag: 'number_out_of_range', path: path() })
  }

  function accept(token: Token): BuilderEvent | undefined {
    switch (token.name) {
      case 'startObject':
        return enter({ kind: 'object', members: {}, key: '' })
      case 'startArray':
        return enter({ kind: 'array', items: [] })
      case 'endObject':
      case 'endArray':
        return leave()
      case 'startString':
        return startString()
      case 'stringChunk':
      case 'numberChunk':
        return chunk(token.value)
      case 'endString':
        return endString()
      case 'endKey':
        return endKey()
      case 'endNumber':
        return endNumber()
      case 'nullValue':
      case 'trueValue':
      case 'falseValue':
        return place(token.value)
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

  return { accept, document: () => (open.length === 0 ? root : undefined) }
}

/** A plain own member even for `__proto__`, which an assignment would turn into the prototype. */
function setMember(members: { [key: string]: Json }, key: string, value: Json): void {
  if (key !== '__proto__') members[key] = value
  else
    Object.defineProperty(members, key, {
      value,
      enumerable: true,
      writable: true,
      configurable: true,
    })
}
