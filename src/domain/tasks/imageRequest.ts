import { defined } from '../defined.ts'
import type { JsonObject, JsonPath } from '../json.ts'
import { sortedJson } from '../json.ts'
import { familyRules } from '../models/familyRules.ts'
import type {
  Action,
  AspectRatio,
  Family,
  ImageMimeType,
  ImageSize,
  ModelId,
  Quality,
} from '../models/models.ts'

/** One source image in the blob store. */
export type InputImage = {
  readonly blobKey: string
  /** The type that the bytes show. */
  readonly mimeType: ImageMimeType
  readonly bytes: number
  /** The hash of the decoded bytes, in lower-case hex. */
  readonly sha256: string
}

/**
 * The routes of requests, whether the client waits for the image there, and the family whose models they take. The route
 * is part of the fingerprint, so the same idempotency key on two routes is a conflict.
 */
const routes = {
  'images.tasks': ['asynchronous', undefined],
  'images.generations': ['synchronous', 'B'],
  'images.edits': ['synchronous', 'B'],
  'v1beta.generateContent': ['synchronous', 'A'],
  'v1beta.asyncGenerateContent': ['asynchronous', 'A'],
} as const satisfies Readonly<Record<string, readonly [string, Family | undefined]>>
export type Route = keyof typeof routes

/** Returns the family whose models a route takes. Undefined: it takes those of each. */
export function familyOfRoute(route: Route): Family | undefined {
  return routes[route][1]
}

/**
 * Returns whether the client waits for the image on this route. Such a task waits in the memory of workers, and the
 * client is told of an upstream's refusal soon.
 */
export function isSyncRoute(route: Route): boolean {
  return routes[route][0] === 'synchronous'
}

/** The routes on which the client waits for the image. */
export const syncRoutes: readonly string[] = Object.entries(routes).flatMap(([route, [kind]]) =>
  kind === 'synchronous' ? [route] : [],
)

/**
 * A v1beta document in camelCase. Each `inlineData.data` is replaced by the index `i` of an image in
 * `inputs`: `{ inlineData: { mimeType, input: i } }`.
 */
export type ContentDocument = {
  readonly contents: readonly JsonObject[]
  readonly systemInstruction?: JsonObject
  readonly safetySettings?: readonly JsonObject[]
  readonly generationConfig?: JsonObject
}

/**
 * A validated request. It has our field names and all defaults, and its images are references. `body` is a
 * prompt on the task and images routes, and a native document on the v1beta routes.
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

/** A request as it was asked: its model may be unknown, and with it the family. */
export type AskedRequest = Omit<ImageRequest, 'family'>

/**
 * Returns a request for a model of this family. Where a family has no qualities, `quality` has no effect and is left out,
 * so that requests which differ only in it have the same fingerprint.
 */
export function ofFamily({ quality, ...request }: AskedRequest, family: Family): ImageRequest {
  const hasQualities = familyRules[family].qualities.length > 0
  return { ...request, family, ...(hasQualities ? defined({ quality }) : {}) }
}

/** One whole image of a request. It is not stored yet. */
export type ReceivedImage = {
  /** The keys and indices that lead to the image in the request. */
  readonly path: JsonPath
  /** The type that the bytes show. */
  readonly mimeType: ImageMimeType
  readonly content: Uint8Array
}

/** A request of the right form. Its images are not stored yet. */
export type UnstoredRequest = Omit<AskedRequest, 'inputs'> & {
  readonly inputs: readonly ReceivedImage[]
}

/**
 * Version of the canonical text. Raise it when a change makes equal requests differ, or makes different
 * requests equal.
 */
const canonicalVersion = 1

/**
 * Returns the request as a stable text. The text contains the route, the version, and each image as
 * digest and type. Object keys are sorted. For an idempotency key, two requests are the same when their texts
 * are equal. The SHA-256 of the text is the fingerprint.
 */
export function canonicalRequest(request: ImageRequest): string {
  const { route, model, action, size, aspectRatio, quality, body, inputs } = request
  // The compiler asks about every field of a request. What is undefined is no part of the text.
  const fields = {
    route,
    // The model says it.
    family: undefined,
    model,
    action,
    size,
    aspectRatio,
    quality,
    body: body.kind === 'prompt' ? { prompt: body.prompt } : { content: { ...body.content } },
    inputs: inputs.map((input) => ({ mimeType: input.mimeType, sha256: input.sha256 })),
  } satisfies Record<keyof ImageRequest, unknown>
  return sortedJson({ version: canonicalVersion, ...defined(fields) })
}
