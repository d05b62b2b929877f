import { createHash } from 'node:crypto'
import { assertNever } from '../domain/assertNever.ts'
import type { CapabilityTable } from '../domain/capabilities.ts'
import { upstreamModelName } from '../domain/channel.ts'
import type { Json, JsonObject } from '../domain/json.ts'
import { camelCaseKey, isArray, itemsOf, objectOf, textOf } from '../domain/json.ts'
import type { HeldImage, UpstreamCall } from '../domain/upstreamCall.ts'
import type { JsonPath } from '../streams/json/readJsonDocument.ts'
import type { AnswerVerdict, FamilyCall } from './callUpstream.ts'
import { familyARequest } from './familyARequest.ts'
import type { ModelAnswer } from './modelAnswer.ts'

/** Family A: `generateContent` of the Gemini wire format (design section 3, `baseUrl`). */
export function familyACall(call: UpstreamCall, capabilities: CapabilityTable): FamilyCall {
  const { channel, request } = call
  const segments = upstreamModelName(channel, request.model).split('/')
  return {
    url: `${channel.baseUrl}/v1beta/models/${segments.map(encodeURIComponent).join('/')}:generateContent`,
    headers: { 'x-goog-api-key': channel.apiKey },
    contentType: 'application/json',
    pieces: familyARequest(request, capabilities[request.model]),
    isImage: isFamilyAImage,
    judge: (answer) => Promise.resolve(judge(answer, call)),
  }
}

function judge(answer: ModelAnswer, call: UpstreamCall): AnswerVerdict {
  const modelVersion = call.request.model
  const reading = readFamilyA(answer, { modelVersion, responseId: responseId(call.idempotencyKey) })
  switch (reading.kind) {
    case 'image': {
      const { image, response, imagePath } = reading
      return { kind: 'image', image, native: { response, imagePath } }
    }
    case 'refusal':
      return { kind: 'refusal', reason: reading.reason, nativeRefusal: reading.response }
    case 'broken':
      return reading
    default:
      return assertNever(reading)
  }
}

/** Ours, and the same however often an answer is read; the key itself is not shown to clients. */
function responseId(idempotencyKey: string): string {
  return createHash('sha256').update(`response ${idempotencyKey}`).digest('base64url').slice(0, 22)
}

/** Names under which the answer goes on: the public model, and an id of ours. */
type NativeNames = { readonly modelVersion: string; readonly responseId: string }

export type FamilyAReading =
  | {
      readonly kind: 'image'
      readonly image: HeldImage
      readonly response: JsonObject
      readonly imagePath: readonly (string | number)[]
    }
  | {
      readonly kind: 'refusal'
      readonly reason: 'content_policy' | 'no_image'
      readonly response: JsonObject
    }
  /** No answer of a `generateContent`, or one whose image lies elsewhere: links are not followed. */
  | { readonly kind: 'broken' }

/** Where `generateContent` answers carry image bytes, in either casing. */
export function isFamilyAImage(path: JsonPath): boolean {
  const parent = path.at(-2)
  return path.at(-1) === 'data' && (parent === 'inlineData' || parent === 'inline_data')
}

/**
 * What a 200 of family A means (research wire.md section 1). Thinking models show drafts before the
 * image: the last whole image that is no thought is the one. The response that goes on has the first
 * candidate alone, in camelCase, with that image's place left empty and no other image.
 */
export function readFamilyA(answer: ModelAnswer, names: NativeNames): FamilyAReading {
  const document = camelCased(answer.document)
  const candidate = objectOf(itemsOf(document['candidates'])[0])
  const parts = candidate === undefined ? [] : partsOf(candidate)
  // Of equal keys the last one counts, in the document and here.
  const imageAt = (at: number) => answer.images.findLast(({ path }) => isPart(path, at))?.image
  const chosenAt = parts.findLastIndex((part, at) => isDrawn(part) && imageAt(at) !== undefined)
  const image = imageAt(chosenAt)
  const kept = parts.flatMap((part, at) => {
    if (!('inlineData' in part)) return 'fileData' in part ? [] : [part]
    return at === chosenAt && image !== undefined
      ? [{ ...part, inlineData: { mimeType: image.mimeType, data: '' } }]
      : []
  })
  const response: JsonObject = {
    ...(candidate === undefined ? {} : { candidates: [withParts(candidate, kept)] }),
    ...picked(document, ['promptFeedback', 'usageMetadata']),
    ...names,
  }
  if (image === undefined) {
    const reason = whyNoImage(document, candidate, parts)
    return reason === 'broken' ? { kind: reason } : { kind: 'refusal', reason, response }
  }
  const index = kept.findIndex((part) => 'inlineData' in part)
  const imagePath = ['candidates', 0, 'content', 'parts', index, 'inlineData', 'data']
  return { kind: 'image', image, response, imagePath }
}

function isDrawn(part: JsonObject): boolean {
  return 'inlineData' in part && part['thought'] !== true
}

function whyNoImage(
  document: JsonObject,
  candidate: JsonObject | undefined,
  parts: readonly JsonObject[],
): 'content_policy' | 'no_image' | 'broken' {
  const blocked = textOf(objectOf(document['promptFeedback'])?.['blockReason']) !== undefined
  if (candidate === undefined && !blocked && !isFamilyAAnswer(document)) return 'broken'
  if (parts.some((part) => isDrawn(part) || 'fileData' in part)) return 'broken'
  const refused = blocked || policyReasons.includes(textOf(candidate?.['finishReason']) ?? '')
  return refused ? 'content_policy' : 'no_image'
}

/** Vendors leave empty lists out, so an answer with neither candidates nor a reason is possible. */
function isFamilyAAnswer(document: JsonObject): boolean {
  return Array.isArray(document['candidates']) || objectOf(document['usageMetadata']) !== undefined
}

/** The others (STOP, MAX_TOKENS, NO_IMAGE, OTHER, IMAGE_OTHER, …) say only that no image came. */
const policyReasons: readonly string[] = [
  'SAFETY',
  'RECITATION',
  'BLOCKLIST',
  'PROHIBITED_CONTENT',
  'SPII',
  'IMAGE_SAFETY',
  'IMAGE_PROHIBITED_CONTENT',
  'IMAGE_RECITATION',
]

/** By their index in the answer: what is no object stays as an empty one. */
function partsOf(candidate: JsonObject): readonly JsonObject[] {
  return itemsOf(objectOf(candidate['content'])?.['parts']).map((part) => objectOf(part) ?? {})
}

function isPart(path: JsonPath, part: number): boolean {
  return path.length === 7 && path[0] === 'candidates' && path[1] === 0 && path[4] === part
}

function withParts(candidate: JsonObject, parts: readonly JsonObject[]): JsonObject {
  const content = objectOf(candidate['content'])
  return content === undefined ? candidate : { ...candidate, content: { ...content, parts } }
}

function picked(object: JsonObject, keys: readonly string[]): JsonObject {
  const entries = keys.flatMap((key): [string, Json][] => {
    const value = object[key]
    return value === undefined ? [] : [[key, value]]
  })
  return Object.fromEntries(entries)
}

/** The same document with every key in camelCase: some upstreams write `inline_data` for `inlineData`. */
function camelCased(object: JsonObject): JsonObject {
  const members = Object.entries(object).map(([key, value]): [string, Json] => [
    camelCaseKey(key),
    camelCasedValue(value),
  ])
  return Object.fromEntries(members)
}

function camelCasedValue(value: Json): Json {
  if (value === null || typeof value !== 'object') return value
  return isArray(value) ? value.map(camelCasedValue) : camelCased(value)
}
