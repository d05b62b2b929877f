import { defined } from '../defined.ts'
import type { JsonObject, JsonPath } from '../json.ts'
import { sortedJson } from '../json.ts'
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
 * The routes of requests, and whether the client waits for the image there. The route is part of the fingerprint,
 * so the same idempotency key on two routes is a conflict.
 */
const routes = {
  'images.tasks': 'asynchronous',
  'images.generations': 'synchronous',
  'images.edits': 'synchronous',
  'v1beta.generateContent': 'synchronous',
  'v1beta.asyncGenerateContent': 'asynchronous',
} as const
export type Route = keyof typeof routes

/**
 * Returns whether the client waits for the image on this route. Such a task waits in the memory of workers, and the
 * client is told of an upstream's refusal soon.
 */
export function isSyncRoute(route: Route): boolean {
  return routes[route] === 'synchronous'
}

/** The routes on which the client waits for the image. */
export const syncRoutes: readonly string[] = Object.entries(routes).flatMap(([route, kind]) =>
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

/** One whole image of a request. It is not stored yet. */
export type ReceivedImage = {
  /** The keys and indices that lead to the image in the request. */
  readonly path: JsonPath
  /** The type that the bytes show. */
  readonly mimeType: ImageMimeType
  readonly content: Uint8Array
}

/** A validated request. Its images are not stored yet. */
export type UnstoredRequest = Omit<ImageRequest, 'inputs'> & {
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
