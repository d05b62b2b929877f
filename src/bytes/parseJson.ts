import type { RequestFailure } from '../domain/failure.ts'
import type { Json, JsonPath } from '../domain/json.ts'
import { parsed } from '../domain/json.ts'
import { paramPath } from '../domain/requestFailures.ts'
import type { Result } from '../domain/result.ts'
import { fail, succeed } from '../domain/result.ts'
import { invalidAt, invalidJson, notBase64, notJson, tooLong } from './jsonFailures.ts'

/** A string that is an image: its place in the document, and the bytes between its quotes. */
export type ImageString = { readonly path: JsonPath; readonly sent: Buffer }

export type JsonRules = {
  /** Returns whether the string at this path is an image in base64. `begin`: its first 160 bytes. */
  readonly isImage: (path: JsonPath, begin: Buffer) => boolean
  readonly imagesMax: number
  readonly depthMax: number
  /** Limit for the containers, strings, numbers and literals together. Keys do not count. */
  readonly valuesMax: number
  /** Limit for all bytes except those between the quotes of an image. */
  readonly besidesImagesBytesMax: number
  /** Limit for all keys and texts together, in UTF-8 without their escapes. */
  readonly textBytesMax: number
  /**
   * Accepts what a paid answer may have: the last of equal keys counts, what follows the document is ignored, and what
   * cannot be stored is replaced.
   */
  readonly lenient: boolean
}

type Reader = JsonRules & {
  readonly body: Buffer
  /** The keys and indices that lead to the value which is read. */
  readonly path: (string | number)[]
  /** By the JSON text of their paths: of equal keys, the last counts. */
  readonly images: Map<string, ImageString>
  at: number
  values: number
  textBytes: number
  /** A byte besides the images that stands here is beyond their limit. */
  limitAt: number
  failure: RequestFailure | undefined
}

/**
 * Parses a JSON document (RFC 8259), and leaves an empty string in the place of each image. `JSON.parse` reads its
 * strings and numbers, but not the document: that would make texts of its images, hide equal keys, and take one key with
 * escapes for another (github.com/nodejs/node/issues/63785). The limits keep the time for this short.
 */
export function parseJson(
  body: Buffer,
  rules: JsonRules,
): Result<{ readonly document: Json; readonly images: readonly ImageString[] }, RequestFailure> {
  const hasMark = body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf
  const reader: Reader = {
    ...rules,
    body,
    path: [],
    images: new Map(),
    at: hasMark ? 3 : 0,
    values: 0,
    textBytes: 0,
    limitAt: rules.besidesImagesBytesMax,
    failure: undefined,
  }
  if (nextByte(reader) === undefined) return fail(reader.failure ?? invalidJson('is empty'))
  const document = readValue(reader)
  if (!rules.lenient && nextByte(reader) !== undefined) refuse(reader, notJson)
  return document === undefined || reader.failure !== undefined
    ? fail(reader.failure ?? notJson)
    : succeed({ document, images: [...reader.images.values()] })
}

/** Keeps the first failure. Every function below returns `undefined` when it has refused something. */
function refuse(reader: Reader, failure: RequestFailure): undefined {
  reader.failure ??= failure
}

const quote = 0x22
const backslash = 0x5c

/** Passes white space. Returns the byte behind it, or `undefined` at the end. */
function nextByte(reader: Reader): number | undefined {
  const { body } = reader
  const end = Math.min(body.length, reader.limitAt)
  while (reader.at < end && isBlank(body[reader.at])) reader.at += 1
  if (reader.at < end) return body[reader.at]
  if (reader.at >= body.length) return undefined
  return refuse(reader, tooLong(reader.besidesImagesBytesMax))
}

function isBlank(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
}

function readValue(reader: Reader): Json | undefined {
  const byte = nextByte(reader)
  reader.values += 1
  if (reader.values > reader.valuesMax) return refuse(reader, invalidJson('has too many values'))
  if (byte === 0x7b) return readObject(reader)
  if (byte === 0x5b) return readArray(reader)
  if (byte !== quote) return readScalar(reader)
  const begin = reader.body.subarray(reader.at + 1, reader.at + 161)
  return reader.isImage(reader.path, begin) ? readImage(reader) : readText(reader)
}

function readObject(reader: Reader): Json | undefined {
  const members = new Map<string, Json>()
  const isRead = readItems(reader, 0x7d, () => {
    const key = readKey(reader, members)
    const value = key === undefined ? undefined : readMember(reader, key)
    if (key !== undefined && value !== undefined) members.set(key, value)
    return value !== undefined
  })
  // Unlike an assignment, this makes `__proto__` a member like any other.
  return isRead ? Object.fromEntries(members) : undefined
}

/** Reads the key of a member, and the colon behind it. `members` are those before it. */
function readKey(reader: Reader, members: ReadonlyMap<string, Json>): string | undefined {
  const key = nextByte(reader) === quote ? readText(reader) : refuse(reader, notJson)
  if (key === undefined) return undefined
  if (!reader.lenient && members.has(key)) {
    const param = paramPath([...reader.path, key])
    return refuse(reader, invalidJson('contains the same field twice', param))
  }
  if (nextByte(reader) !== 0x3a) return refuse(reader, notJson)
  reader.at += 1
  return key
}

function readArray(reader: Reader): Json | undefined {
  const items: Json[] = []
  const isRead = readItems(reader, 0x5d, () => {
    const item = readMember(reader, items.length)
    if (item !== undefined) items.push(item)
    return item !== undefined
  })
  return isRead ? items : undefined
}

/**
 * Reads from an opening bracket to `close`. `readItem` reads what stands between two commas, and returns false when it
 * has refused it.
 */
function readItems(reader: Reader, close: number, readItem: () => boolean): true | undefined {
  if (reader.path.length >= reader.depthMax)
    return refuse(reader, invalidJson('is nested too deeply'))
  reader.at += 1
  let byte = nextByte(reader)
  while (byte !== close) {
    if (!readItem()) return undefined
    byte = nextByte(reader)
    if (byte !== close && byte !== 0x2c) return refuse(reader, notJson)
    if (byte === 0x2c) reader.at += 1
  }
  reader.at += 1
  return true
}

function readMember(reader: Reader, step: string | number): Json | undefined {
  reader.path.push(step)
  const value = readValue(reader)
  reader.path.pop()
  return value
}

/** Reads a number or a literal. */
function readScalar(reader: Reader): Json | undefined {
  const { body, at: begin, limitAt, path, lenient } = reader
  while (reader.at < limitAt && !endsScalar(body[reader.at])) reader.at += 1
  if (reader.at === limitAt) nextByte(reader)
  if (reader.failure !== undefined) return undefined
  const text = body.toString('latin1', begin, reader.at)
  // Python writes these where a number is none, and JSON has no word for them.
  const value = lenient && /^(?:NaN|-?Infinity)$/.test(text) ? null : parsed(text)
  if (value === undefined) return refuse(reader, notJson)
  if (typeof value !== 'number' || Number.isFinite(value)) return value
  return lenient ? null : refuse(reader, invalidAt(path, 'the number is out of range'))
}

function endsScalar(byte: number | undefined): boolean {
  return byte === undefined || byte === 0x2c || byte === 0x5d || byte === 0x7d || isBlank(byte)
}

/** Reads a key or a text. */
function readText(reader: Reader): string | undefined {
  const { body, at: begin, limitAt, path } = reader
  const next = body.indexOf(quote, begin + 1)
  const end = body[next - 1] === backslash ? endOfString(body, begin + 1, limitAt) : next
  if ((end === -1 ? body.length : end) >= limitAt) {
    return refuse(reader, tooLong(reader.besidesImagesBytesMax))
  }
  const text = parsed(body.toString('utf8', begin, end + 1))
  if (end === -1 || typeof text !== 'string') return refuse(reader, notJson)
  reader.at = end + 1
  if (reader.lenient) return isStorable(text) ? text : storable(text)
  reader.textBytes += Buffer.byteLength(text)
  if (reader.textBytes > reader.textBytesMax) return refuse(reader, tooLong(reader.textBytesMax))
  // A failure must not show a text, and a key is one. So the path of a key leads to the object that has it.
  return isStorable(text)
    ? text
    : refuse(reader, invalidAt(path, 'text must not contain NUL or lone surrogates'))
}

function readImage(reader: Reader): string | undefined {
  const { body, at, images, imagesMax, lenient } = reader
  const path = [...reader.path]
  if (images.size >= imagesMax) {
    return refuse(reader, invalidAt(path.slice(0, 1), `at most ${imagesMax} images`))
  }
  let end = body.indexOf(quote, at + 1)
  if (body[end - 1] === backslash) {
    // There is no backslash before a quote in base64. With millions of them, finding the end would take long.
    if (!lenient) return refuse(reader, notBase64(path))
    end = endOfString(body, at + 1, body.length)
  }
  if (end === -1 || end === body.length) return refuse(reader, notJson)
  images.set(JSON.stringify(path), { path, sent: body.subarray(at + 1, end) })
  reader.limitAt += end - at - 1
  reader.at = end + 1
  return ''
}

/** Returns the position of the quote that ends a string, or at least the smaller of `limitAt` and the end of the body. */
function endOfString(body: Buffer, begin: number, limitAt: number): number {
  const end = Math.min(body.length, limitAt)
  let at = begin
  while (at < end && body[at] !== quote) at += body[at] === backslash ? 2 : 1
  return at
}

/** PostgreSQL stores no other text. */
function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}

function storable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\uFFFD')
}
