import { defined } from './defined.ts'
import type { Json, JsonObject } from './json.ts'
import { isArray } from './json.ts'
import type {
  Action,
  AspectRatio,
  Family,
  ImageMimeType,
  ImageSize,
  ModelId,
  Quality,
} from './models.ts'

/** One source image in the blob store. */
export type InputImage = {
  readonly blobKey: string
  /** Detected from the bytes. */
  readonly mimeType: ImageMimeType
  readonly bytes: number
  /** Lower-case hex, of the decoded bytes. */
  readonly sha256: string
}

/** The route of a request. It is part of the fingerprint: the same key on two routes is a conflict. */
const routes = [
  'images.tasks',
  'images.generations',
  'images.edits',
  'v1beta.generateContent',
  'v1beta.asyncGenerateContent',
] as const
export type Route = (typeof routes)[number]

/** The client of a synchronous route waits: its task has a higher priority, and refusals are passed on. */
export function isSyncRoute(route: Route): boolean {
  return (
    route === 'images.generations' || route === 'images.edits' || route === 'v1beta.generateContent'
  )
}

/**
 * A v1beta document in camelCase, each `inlineData.data` replaced by `inputs[i]` of the request:
 * `{ inlineData: { mimeType, input: i } }`.
 */
export type ContentDocument = {
  readonly contents: readonly JsonObject[]
  readonly systemInstruction?: JsonObject
  readonly safetySettings?: readonly JsonObject[]
  readonly generationConfig?: JsonObject
}

/**
 * A validated request with defaults, our field names, and images by reference. `body` is a prompt on the
 * task and images routes, and a native document on the v1beta routes.
 */
export type ImageRequest = {
  readonly route: Route
  readonly family: Family
  readonly model: ModelId
  readonly action: Action
  readonly size?: ImageSize
  readonly aspectRatio?: AspectRatio
  readonly quality?: Quality
  readonly body:
    | { readonly kind: 'prompt'; readonly prompt: string }
    | { readonly kind: 'content'; readonly content: ContentDocument }
  readonly inputs: readonly InputImage[]
}

/** One image of a request that is not validated yet, already in the blob store. */
export type ReceivedImage = {
  /** Keys and indices that lead to it in the request. */
  readonly path: readonly (string | number)[]
  readonly blobKey: string
  readonly bytes: number
  /** Lower-case hex of the decoded bytes. */
  readonly sha256: string
  /** Detected from the bytes. Absent: no complete PNG, JPEG or WebP. */
  readonly sniffedType?: ImageMimeType
}

/** To be raised when a change lets equal requests differ, or different requests be equal. */
const canonicalVersion = 1

/**
 * The request as a stable text: with its route and this version, images by digest and type, and object
 * keys in order. Two requests with the same text are the same request for an idempotency key. The SHA-256
 * of the text is the fingerprint.
 */
export function canonicalRequest(request: ImageRequest): string {
  const { route, model, action, size, aspectRatio, quality, body, inputs } = request
  return stableText({
    version: canonicalVersion,
    route,
    model,
    action,
    ...defined({ size, aspectRatio, quality }),
    body: body.kind === 'prompt' ? { prompt: body.prompt } : { content: { ...body.content } },
    inputs: inputs.map((input) => ({ mimeType: input.mimeType, sha256: input.sha256 })),
  })
}

/** JSON with the keys of every object sorted by code unit. */
function stableText(value: Json): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  if (isArray(value)) return `[${value.map(stableText).join(',')}]`
  const members = Object.entries(value)
    .toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([key, member]) => `${JSON.stringify(key)}:${stableText(member)}`)
  return `{${members.join(',')}}`
}
