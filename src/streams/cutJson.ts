import { setImmediate as turn } from 'node:timers/promises'
import type { Result } from '../domain/result.ts'
import { fail, succeed } from '../domain/result.ts'
import type { JsonFailure, JsonPath } from './jsonFailure.ts'

/** A string that is an image: its place in the document, and the bytes between its quotes. */
export type ImageString = { readonly path: JsonPath; readonly sent: Buffer }

type CutJson = {
  /** The document without its images. An empty string stands in the place of each. */
  readonly text: string
  /** In the order of the document. */
  readonly images: readonly ImageString[]
}

export type CutRules = {
  readonly isImage: (path: JsonPath) => boolean
  readonly imagesMax: number
  readonly depthMax: number
  /** Limit for the containers, strings, numbers and literals together. Keys do not count. */
  readonly valuesMax: number
  /** Limit for all bytes except those between the quotes of an image. */
  readonly besidesImagesBytesMax: number
  /** Accepts what a paid answer may have: equal keys, bytes after the document, and any text as an image. */
  readonly lenient: boolean
}

/**
 * Cuts the images out of a JSON document, so that `JSON.parse` can read the rest at once. Walks from quote to quote,
 * looks at every byte between the strings, and applies those rules that must hold before `JSON.parse`. It does not
 * check whether the document is JSON. In a document that is not, it finds strings and paths that mean nothing, but it
 * stops at the same limits. Lets other work run in between.
 */
export async function cutJson(
  body: Buffer,
  rules: CutRules,
): Promise<Result<CutJson, JsonFailure>> {
  const walk = createWalk(body, rules)
  let at = walk.keptTo
  for (let steps = 1; at < body.length && !walk.ended; at += 1, steps += 1) {
    if (steps % stepsPerTurn === 0) await turn()
    const byte = body.readUInt8(at)
    if (byte === quote) {
      const end = await passString(walk, at)
      if (!end.ok) return end
      at = end.value
    } else passByte(walk, byte)
    const failure = exceeded(walk, at)
    if (failure !== undefined) return fail(failure)
  }
  walk.kept.push(body.toString('utf8', walk.keptTo, at))
  return succeed({ text: walk.kept.join(''), images: walk.images })
}

/** A step takes up to 0.1 µs. */
const stepsPerTurn = 64 * 1024

const quote = 0x22
const backslash = 0x5c

type Walk = {
  readonly body: Buffer
  readonly rules: CutRules
  /** The objects and arrays that have begun and not ended, the outermost first. */
  readonly open: Container[]
  values: number
  keys: number
  /** True inside of a number or literal. */
  inScalar: boolean
  /** True after the end of the document, when the bytes after it are ignored. */
  ended: boolean
  readonly images: ImageString[]
  /** The text of the document up to `keptTo`, without images. */
  readonly kept: string[]
  keptTo: number
  /** A byte besides the images that stands here is beyond their limit. */
  limitAt: number
}

/** `step` is the key or the index of the next value. */
type Container =
  | { readonly kind: 'array'; step: number }
  | { readonly kind: 'object'; step: string; keyIsNext: boolean; readonly keys: Set<string> }

function createWalk(body: Buffer, rules: CutRules): Walk {
  const begin = body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf ? byteOrderMarkBytes : 0
  return {
    body,
    rules,
    open: [],
    values: 0,
    keys: 0,
    inScalar: false,
    ended: false,
    images: [],
    kept: [],
    keptTo: begin,
    limitAt: rules.besidesImagesBytesMax,
  }
}

const byteOrderMarkBytes = 3

function exceeded(walk: Walk, at: number): JsonFailure | undefined {
  const { depthMax, valuesMax, besidesImagesBytesMax } = walk.rules
  if (at >= walk.limitAt) return { tag: 'text_too_long', limitBytes: besidesImagesBytesMax }
  if (walk.open.length > depthMax) return { tag: 'too_deep' }
  // Each key has a value, so only a text that is not JSON has too many keys and not too many values.
  if (walk.values > valuesMax || walk.keys > valuesMax) return { tag: 'too_many_values' }
  return undefined
}

/** Passes a byte that is not in a string. */
function passByte(walk: Walk, byte: number): void {
  const container = walk.open.at(-1)
  const wasInScalar = walk.inScalar
  walk.inScalar = false
  switch (byte) {
    case 0x7b: // {
      return begin(walk, { kind: 'object', step: '', keyIsNext: true, keys: new Set() })
    case 0x5b: // [
      return begin(walk, { kind: 'array', step: 0 })
    case 0x7d: // }
    case 0x5d: // ]
      walk.open.pop()
      walk.ended = walk.rules.lenient && walk.open.length === 0
      return
    case 0x2c: // ,
      if (container?.kind === 'array') container.step += 1
      else if (container !== undefined) container.keyIsNext = true
      return
    case 0x3a: // :
    case 0x20:
    case 0x09:
    case 0x0a:
    case 0x0d:
      return
    default:
      if (!wasInScalar) walk.values += 1
      walk.inScalar = true
  }
}

function begin(walk: Walk, container: Container): void {
  walk.open.push(container)
  walk.values += 1
}

/** Passes the string whose first quote is at `at`. Returns the position of its last quote. */
async function passString(walk: Walk, at: number): Promise<Result<number, JsonFailure>> {
  const { body, open, rules } = walk
  walk.inScalar = false
  const container = open.at(-1)
  if (container?.kind === 'object' && container.keyIsNext) {
    const end = await endOfString(body, at + 1, walk.limitAt)
    const key = body.toString('utf8', at + 1, Math.min(end, walk.limitAt))
    container.step = unescaped(key) ?? key
    container.keyIsNext = false
    walk.keys += 1
    const known = container.keys.size
    const isNew = container.keys.add(container.step).size > known
    return isNew || rules.lenient
      ? succeed(end)
      : fail({ tag: 'duplicate_key', path: pathOf(open) })
  }
  walk.values += 1
  const path = pathOf(open)
  return rules.isImage(path)
    ? passImage(walk, at, path)
    : succeed(await endOfString(body, at + 1, walk.limitAt))
}

function pathOf(open: readonly Container[]): JsonPath {
  return open.map(({ step }) => step)
}

/** Cuts an image out. Does with it what `passString` does. */
async function passImage(
  walk: Walk,
  at: number,
  path: JsonPath,
): Promise<Result<number, JsonFailure>> {
  const { body, rules, images } = walk
  const begin = at + 1
  if (images.length >= rules.imagesMax) {
    return fail({ tag: 'too_many_images', path, limit: rules.imagesMax })
  }
  // There is no backslash before a quote in base64. With millions of them, finding the end would take seconds.
  const next = body.indexOf(quote, begin)
  if (!rules.lenient && body[next - 1] === backslash) return fail({ tag: 'invalid_base64', path })
  const end = await endOfString(body, begin, body.length)
  images.push({ path, sent: body.subarray(begin, end) })
  walk.kept.push(body.toString('utf8', walk.keptTo, begin))
  walk.keptTo = end
  walk.limitAt += end - begin
  return succeed(end)
}

/**
 * Returns the position of the quote that ends a string. When there is none before `limitAt`, returns a position that
 * is not smaller.
 */
async function endOfString(body: Buffer, begin: number, limitAt: number): Promise<number> {
  let end = body.indexOf(quote, begin)
  for (let steps = 1; end !== -1 && end < limitAt; steps += 1) {
    if (!isEscaped(body, end, begin)) return end
    if (steps % stepsPerTurn === 0) await turn()
    end = body.indexOf(quote, end + 1)
  }
  return body.length
}

/** Returns whether an odd number of backslashes stands before a position. */
function isEscaped(body: Buffer, at: number, begin: number): boolean {
  let first = at
  while (first > begin && body[first - 1] === backslash) first -= 1
  return (at - first) % 2 === 1
}

/** Returns the text that stands between the quotes of a JSON string without its escapes, if it is one. */
export function unescaped(sent: string): string | undefined {
  try {
    const text: unknown = JSON.parse(`"${sent}"`)
    return typeof text === 'string' ? text : undefined
  } catch {
    return undefined
  }
}
