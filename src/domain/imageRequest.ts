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
export const routes = [
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

/** A JSON value without numbers that JSON cannot carry. */
export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [key: string]: Json }
export type JsonObject = { readonly [key: string]: Json }

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
