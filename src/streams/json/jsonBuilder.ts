import type { Token } from 'stream-json/core/parser.js'
import { assertNever } from '../../domain/assertNever.ts'
import type { Json } from '../../domain/json.ts'
import type { JsonBounds, JsonTree } from './jsonTree.ts'
import { createJsonTree, enter, leave, nameMember, pathOf, place, wholeOf } from './jsonTree.ts'
import type { JsonIntakeFailure, JsonPath } from './readJsonDocument.ts'
import type { TextGatherer } from './textGatherer.ts'
import { createTextGatherer } from './textGatherer.ts'

export type JsonBuilderOptions = JsonBounds & {
  /** Asked once at the start of each string value; true takes its text out of the document. */
  readonly divert: (path: JsonPath) => boolean
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

/** A build under way: the tree so far, and the key, string or number whose chunks are coming. */
type Build = {
  readonly options: JsonBuilderOptions
  readonly tree: JsonTree
  readonly text: TextGatherer
  textBytes: number
  mode: 'text' | 'diverted'
}

/** Builds a document from parser tokens (keys, strings and numbers unpacked), inside bounds. */
export function createJsonBuilder(options: JsonBuilderOptions): JsonBuilder {
  const tree = createJsonTree(options)
  const build: Build = { options, tree, text: createTextGatherer(), textBytes: 0, mode: 'text' }
  return { accept: (token) => accept(build, token), document: () => wholeOf(tree) }
}

function accept(build: Build, token: Token): BuilderEvent | undefined {
  switch (token.name) {
    case 'startObject':
      return failureOf(enter(build.tree, 'object'))
    case 'startArray':
      return failureOf(enter(build.tree, 'array'))
    case 'endObject':
    case 'endArray':
      return failureOf(leave(build.tree))
    case 'startString':
      return startString(build)
    case 'stringChunk':
    case 'numberChunk':
      return addChunk(build, token.value)
    case 'endString':
      return endString(build)
    case 'endKey':
      return endKey(build)
    case 'endNumber':
      return endNumber(build)
    case 'nullValue':
    case 'trueValue':
    case 'falseValue':
      return failureOf(place(build.tree, token.value))
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

function startString(build: Build): BuilderEvent | undefined {
  const path = pathOf(build.tree)
  if (!build.options.divert(path)) return undefined
  build.mode = 'diverted'
  return { kind: 'diverted_start', path }
}

function addChunk(build: Build, chunk: string): BuilderEvent | undefined {
  if (build.mode === 'diverted') return { kind: 'diverted_text', text: chunk }
  const { textBytesMax: limitBytes } = build.options
  build.textBytes += Buffer.byteLength(chunk)
  if (build.textBytes > limitBytes) return failureOf({ tag: 'text_too_long', limitBytes })
  build.text.push(chunk)
  return undefined
}

function endString(build: Build): BuilderEvent | undefined {
  if (build.mode === 'diverted') {
    build.mode = 'text'
    return failureOf(place(build.tree, '')) ?? { kind: 'diverted_end' }
  }
  const whole = takeStorable(build)
  if (whole !== undefined) return failureOf(place(build.tree, whole))
  return failureOf({ tag: 'unstorable_text', path: pathOf(build.tree) })
}

function endKey(build: Build): BuilderEvent | undefined {
  const key = takeStorable(build)
  if (key !== undefined) return failureOf(nameMember(build.tree, key))
  // The key itself cannot be shown: the object's own path.
  return failureOf({ tag: 'unstorable_text', path: pathOf(build.tree).slice(0, -1) })
}

function endNumber(build: Build): BuilderEvent | undefined {
  const value = Number(build.text.take())
  return failureOf(
    Number.isFinite(value)
      ? place(build.tree, value)
      : { tag: 'number_out_of_range', path: pathOf(build.tree) },
  )
}

/** The gathered text, or `undefined` when it may not be stored. */
function takeStorable({ text, options }: Build): string | undefined {
  const whole = text.take()
  if (whole.isWellFormed() && !whole.includes('\0')) return whole
  if (options.unstorableText === 'refuse') return undefined
  return whole.toWellFormed().replaceAll('\0', '\uFFFD')
}

function failureOf(failure: JsonIntakeFailure | undefined): BuilderEvent | undefined {
  return failure === undefined ? undefined : { kind: 'failure', failure }
}
