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

/**
 * One source image, already in the blob store. `sha256` is lower-case hex of the decoded bytes,
 * `mimeType` was sniffed from them.
 */
export type InputImage = {
  readonly blobKey: string
  readonly mimeType: ImageMimeType
  readonly bytes: number
  readonly sha256: string
}

/** Where a request came in. Part of the fingerprint: one key used on two routes is a conflict. */
const routes = [
  'images.tasks',
  'images.generations',
  'images.edits',
  'v1beta.generateContent',
  'v1beta.asyncGenerateContent',
] as const
export type Route = (typeof routes)[number]

/** A synchronous route's task has the caller waiting: higher priority, refusals passed on (design 1.13). */
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
 * A request after its schema: defaults filled, names ours, images by reference. `prompt` is the text of
 * the task routes; `content` the native document of the v1beta routes, whose texts are the prompt.
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

/** One image of a request, in the blob store before its request is known to be good. */
export type ReceivedImage = {
  /** Where it stood in the request's document: keys and indices. */
  readonly path: readonly (string | number)[]
  readonly blobKey: string
  readonly bytes: number
  /** Lower-case hex of the decoded bytes. */
  readonly sha256: string
  /** By the bytes themselves; absent: no whole PNG, JPEG or WebP. */
  readonly sniffedType?: ImageMimeType
}

/** Raised whenever two requests that were equal may canonicalize differently, or the reverse. */
const canonicalVersion = 1

/**
 * The normalized request as stable text (spec, Idempotency rules): route and version included, images
 * by digest and type, object keys sorted, defaults filled by the schema before. Equal text means
 * "the same request"; its SHA-256 is the fingerprint.
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
