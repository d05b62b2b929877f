import { createHash } from 'node:crypto'
import { defined } from '../domain/defined.ts'
import type { Json, JsonObject } from '../domain/json.ts'
import { camelCaseKey, isArray, itemsOf, objectOf, textOf } from '../domain/json.ts'
import type { CapabilityTable } from '../domain/models/capabilities.ts'
import type { ModelId } from '../domain/models/models.ts'
import type { ImageRequest } from '../domain/tasks/imageRequest.ts'
import type { UpstreamCall } from '../domain/upstream/upstreamCall.ts'
import { familyARequest } from './familyARequest.ts'
import type { AnswerImage, AnswerVerdict, FamilyCall, ModelAnswer } from './familyCall.ts'
import type { JsonPath } from '../streams/jsonFailure.ts'

/** Prepares one call of family A: `generateContent` of the Gemini API. */
export function familyACall(
  { upstreamKey }: UpstreamCall,
  request: ImageRequest,
  capabilities: CapabilityTable,
): FamilyCall {
  const names = publicNames(request.model, upstreamKey)
  return {
    contentType: 'application/json',
    pieces: familyARequest(request, capabilities[request.model]),
    isImage: isFamilyAImage,
    judge: async (answer) => await judgeFamilyA(answer, names),
  }
}

/**
 * Returns the names that replace those of the upstream for the client. The response id is a digest of the upstream idempotency key. So repeated calls
 * with the same key get the same id, and the client does not see the key itself.
 */
function publicNames(model: ModelId, upstreamKey: string) {
  const digest = createHash('sha256').update(`response ${upstreamKey}`).digest('base64url')
  return { modelVersion: model, responseId: digest.slice(0, 22) }
}

/**
 * Returns whether an answer has image bytes at this path. Some upstreams write `inline_data` in snake_case.
 */
export function isFamilyAImage(path: JsonPath): boolean {
  const parent = path.at(-2)
  return path.at(-1) === 'data' && (parent === 'inlineData' || parent === 'inline_data')
}

/**
 * Judges what a 2xx answer of family A means. Chooses the last whole image that is not marked as a thought,
 * because thinking models send drafts before the final image. The response for the client is in camelCase and
 * contains only the first candidate. An empty string replaces the data of the chosen image. All other images
 * are left out.
 */
export async function judgeFamilyA(
  answer: ModelAnswer,
  names: ReturnType<typeof publicNames>,
): Promise<AnswerVerdict> {
  const document = objectOf(camelCased(answer.document)) ?? {}
  const candidate = objectOf(itemsOf(document['candidates'])[0])
  const parts = candidate === undefined ? [] : partsOf(candidate)
  const { image, at: chosenAt } = await lastFinalImage(parts, answer.images)
  const kept = parts.flatMap((part, at) => {
    if (!('inlineData' in part)) return 'fileData' in part ? [] : [part]
    return at === chosenAt && image !== undefined
      ? [{ ...part, inlineData: { mimeType: image.mimeType, data: '' } }]
      : []
  })
  const response: JsonObject = {
    ...(candidate === undefined ? {} : { candidates: [withParts(candidate, kept)] }),
    ...defined({
      promptFeedback: document['promptFeedback'],
      usageMetadata: document['usageMetadata'],
    }),
    ...names,
  }
  if (image === undefined) {
    const reason = whyNoImage(document, candidate, parts)
    return reason === 'broken_body'
      ? { class: 'unknown', reason }
      : { class: 'rejected', reason, nativeRejection: response }
  }
  const index = kept.findIndex((part) => 'inlineData' in part)
  const imagePath = ['candidates', 0, 'content', 'parts', index, 'inlineData', 'data']
  return { class: 'succeeded', reason: 'image', image, native: { response, imagePath } }
}

async function lastFinalImage(
  parts: readonly JsonObject[],
  images: ModelAnswer['images'],
): Promise<{ readonly image?: AnswerImage; readonly at?: number }> {
  for (const { path, read } of images.toReversed()) {
    const at = partOf(path)
    const part = at === undefined ? undefined : parts[at]
    const image = part !== undefined && isFinalImage(part) ? await read() : undefined
    if (image !== undefined) return { image, ...defined({ at }) }
  }
  return {}
}

/** Returns whether a part is an image for the client. The bytes of the image may be incomplete. */
function isFinalImage(part: JsonObject): boolean {
  return 'inlineData' in part && part['thought'] !== true
}

function whyNoImage(
  document: JsonObject,
  candidate: JsonObject | undefined,
  parts: readonly JsonObject[],
): 'content_policy' | 'no_image' | 'broken_body' {
  const blocked = textOf(objectOf(document['promptFeedback'])?.['blockReason']) !== undefined
  if (candidate === undefined && !blocked && !isFamilyAAnswer(document)) return 'broken_body'
  // An image by link (`fileData`) is a broken answer too, because Darkroom does not follow links.
  if (parts.some((part) => isFinalImage(part) || 'fileData' in part)) return 'broken_body'
  const refused = blocked || policyReasons.includes(textOf(candidate?.['finishReason']) ?? '')
  return refused ? 'content_policy' : 'no_image'
}

/**
 * Returns whether the document is an answer of family A at all. Upstreams leave empty lists out, so a real
 * answer may have no candidates and no block reason. It then still has `usageMetadata`.
 */
function isFamilyAAnswer(document: JsonObject): boolean {
  return Array.isArray(document['candidates']) || objectOf(document['usageMetadata']) !== undefined
}

/**
 * Finish reasons that mean a violation of the content policy. All other finish reasons (STOP, MAX_TOKENS,
 * NO_IMAGE, OTHER, IMAGE_OTHER) say only that there is no image.
 */
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

/**
 * Returns the parts of a candidate. An item that is not an object becomes an empty object, so that every
 * index is the same as in the answer.
 */
function partsOf(candidate: JsonObject): readonly JsonObject[] {
  return itemsOf(objectOf(candidate['content'])?.['parts']).map((part) => objectOf(part) ?? {})
}

/**
 * Returns the index of the part that contains the image at this path. Returns `undefined` when the image is not in a
 * part of the first candidate.
 */
function partOf(path: JsonPath): number | undefined {
  const isInPart = path.length === 7 && partsPath.every((step, at) => path[at] === step)
  const index = path[partsPath.length]
  return isInPart && typeof index === 'number' ? index : undefined
}

const partsPath = ['candidates', 0, 'content', 'parts'] as const

function withParts(candidate: JsonObject, parts: readonly JsonObject[]): JsonObject {
  const content = objectOf(candidate['content'])
  return content === undefined ? candidate : { ...candidate, content: { ...content, parts } }
}

/** Returns the value with every key in camelCase, because some upstreams write snake_case (`inline_data`). */
function camelCased(value: Json): Json {
  if (value === null || typeof value !== 'object') return value
  if (isArray(value)) return value.map(camelCased)
  const members = Object.entries(value).map(([key, member]) => [
    camelCaseKey(key),
    camelCased(member),
  ])
  return Object.fromEntries(members)
}
