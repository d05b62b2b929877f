import { isUtf8 } from 'node:buffer'
import { setImmediate as turn } from 'node:timers/promises'
import { assertNever } from '../domain/assertNever.ts'
import type { Json } from '../domain/json.ts'
import { isArray } from '../domain/json.ts'
import {
  inputImageBytesMax,
  inputImagesBytesMax,
  inputImagesMax,
  jsonDepthMax,
  jsonValuesMax,
  outputImageBytesMax,
  requestBesidesImagesBytesMax,
  requestTextBytesMax,
  upstreamAnswerTextBytesMax,
  upstreamAnswerValuesMax,
} from '../domain/limits.ts'
import type { Result } from '../domain/result.ts'
import { fail, succeed } from '../domain/result.ts'
import type { Base64Alphabet, Base64Failure } from './base64.ts'
import { decodeBase64, decodeLenientBase64 } from './base64.ts'
import type { ImageString } from './cutJson.ts'
import { cutJson } from './cutJson.ts'
import type { JsonFailure, JsonPath } from './jsonFailure.ts'

type JsonOptions = {
  /** Returns whether the string at this path is an image in base64. */
  readonly isImage: (path: JsonPath) => boolean
}

/** An image of a document, decoded. */
export type ImageBytes = { readonly path: JsonPath; readonly bytes: Buffer }

export type JsonRead = {
  /** The document. An empty string stands in the place of each image. */
  readonly document: Json
  /** In the order of the document. */
  readonly images: readonly ImageBytes[]
}

/**
 * Reads the JSON body of a request, strictly. Refuses what has no single meaning or cannot be stored: equal keys,
 * numbers out of range, NUL and lone surrogates in texts, base64 that is not strict. Applies the limits for requests in
 * `limits.ts`. A byte-order mark at the start is ignored. The images are decoded in place, so `body` belongs to this
 * function from now on. Lets other work run in between.
 */
export async function readJson(
  body: Buffer,
  { isImage, alphabet }: JsonOptions & { readonly alphabet: Base64Alphabet },
): Promise<Result<JsonRead, JsonFailure>> {
  if (!isUtf8(body)) return fail({ tag: 'invalid_utf8' })
  const cut = await cutJson(body, { ...requestRules, isImage })
  if (!cut.ok) return cut
  const document = await parse(cut.value.text)
  if (!document.ok) return document
  const failure = checkValue(document.value, [], { bytes: 0 })
  if (failure !== undefined) return fail(failure)
  const images = await decodeImages(cut.value.images, alphabet)
  return images.ok ? succeed({ document: document.value, images: images.value }) : images
}

const requestRules = {
  imagesMax: inputImagesMax,
  depthMax: jsonDepthMax,
  valuesMax: jsonValuesMax,
  besidesImagesBytesMax: requestBesidesImagesBytesMax,
  lenient: false,
} as const

async function parse(text: string): Promise<Result<Json, JsonFailure>> {
  await turn()
  try {
    const document: Json = JSON.parse(text)
    return succeed(document)
  } catch {
    return fail({ tag: text.trim() === '' ? 'empty' : 'syntax' })
  }
}

/** Returns the first failure in a value. Adds up the bytes of its keys and texts in `texts`. */
function checkValue(
  value: Json,
  path: JsonPath,
  texts: { bytes: number },
): JsonFailure | undefined {
  if (typeof value === 'string') {
    texts.bytes += Buffer.byteLength(value)
    const limitBytes = requestTextBytesMax
    if (texts.bytes > limitBytes) return { tag: 'text_too_long', limitBytes }
    return isStorable(value) ? undefined : { tag: 'unstorable_text', path }
  }
  if (typeof value === 'number') {
    return Number.isFinite(value) ? undefined : { tag: 'number_out_of_range', path }
  }
  if (typeof value !== 'object' || value === null) return undefined
  for (const [step, member] of isArray(value) ? value.entries() : Object.entries(value)) {
    // A failure must not show a text, and a key is one. So its path leads to the object that has the key.
    const ofKey = typeof step === 'string' ? checkValue(step, path, texts) : undefined
    const failure = ofKey ?? checkValue(member, [...path, step], texts)
    if (failure !== undefined) return failure
  }
  return undefined
}

/** PostgreSQL stores no other text. */
function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}

/** Decodes the images one after the other, and stops at the first failure. */
async function decodeImages(
  strings: readonly ImageString[],
  alphabet: Base64Alphabet,
): Promise<Result<readonly ImageBytes[], JsonFailure>> {
  const images: ImageBytes[] = []
  let bytesLeft = inputImagesBytesMax
  for (const { path, sent } of strings) {
    const decoded = await decodeBase64(
      sent,
      alphabet,
      Math.min(inputImageBytesMax, bytesLeft),
      sent,
    )
    if (!decoded.ok) return fail(imageFailure(decoded.failure, path, bytesLeft))
    bytesLeft -= decoded.value.length
    images.push({ path, bytes: decoded.value })
  }
  return succeed(images)
}

function imageFailure(failure: Base64Failure, path: JsonPath, bytesLeft: number): JsonFailure {
  switch (failure) {
    case 'no_string':
      return { tag: 'syntax' }
    case 'no_base64':
      return { tag: 'invalid_base64', path }
    case 'too_large':
      return inputImageBytesMax <= bytesLeft
        ? { tag: 'image_too_large', path, limitBytes: inputImageBytesMax }
        : { tag: 'images_too_large', path, limitBytes: inputImagesBytesMax }
    default:
      return assertNever(failure)
  }
}

/** An image of an answer that is not decoded yet. */
export type LenientImage = {
  readonly path: JsonPath
  /** Returns `undefined` when the string is not base64, and when the image has more than `outputImageBytesMax`. */
  readonly decode: () => Promise<Buffer | undefined>
}

export type LenientRead = {
  /** The document. An empty string stands in the place of each image. */
  readonly document: Json
  /** In the order of the document. */
  readonly images: readonly LenientImage[]
}

/**
 * Reads the JSON of an upstream answer, leniently, because we have paid for it. The last of equal keys counts, what
 * follows the first object or array is ignored, and characters that cannot be stored are replaced. Images are decoded
 * only when the caller asks for them, from `body`, which must not change until then.
 */
export async function readLenientJson(
  body: Buffer,
  { isImage }: JsonOptions,
): Promise<Result<LenientRead, JsonFailure>> {
  const cut = await cutJson(body, { ...answerRules, isImage })
  if (!cut.ok) return cut
  const document = await parse(cut.value.text)
  if (!document.ok) return document
  const strings = new Map(cut.value.images.map((image) => [JSON.stringify(image.path), image]))
  const images = Array.from(strings.values(), ({ path, sent }) => ({
    path,
    decode: () => decodeLenientBase64(sent, outputImageBytesMax),
  }))
  return succeed({ document: storable(document.value), images })
}

const answerRules = {
  imagesMax: upstreamAnswerValuesMax,
  depthMax: 64,
  valuesMax: upstreamAnswerValuesMax,
  besidesImagesBytesMax: upstreamAnswerTextBytesMax,
  lenient: true,
} as const

/** Returns the value with every character replaced that PostgreSQL cannot store, and with null for infinite numbers. */
function storable(value: Json): Json {
  if (typeof value === 'string') return storableText(value)
  if (typeof value === 'number') return Number.isFinite(value) ? value : null
  if (value === null || typeof value !== 'object') return value
  if (isArray(value)) return value.map(storable)
  const members = Object.entries(value)
  return Object.fromEntries(members.map(([key, member]) => [storableText(key), storable(member)]))
}

function storableText(text: string): string {
  return isStorable(text) ? text : text.toWellFormed().replaceAll('\0', '\uFFFD')
}
