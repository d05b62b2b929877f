import { defined } from '../domain/defined.ts'
import type { RequestFailure } from '../domain/failure.ts'
import { invalidRequest } from '../domain/failure.ts'
import type { ContentDocument, ImageRequest, ReceivedImage, Route } from '../domain/imageRequest.ts'
import type { Json, JsonObject } from '../domain/json.ts'
import type { FamilyAModel } from '../domain/models.ts'
import { familyAModels } from '../domain/models.ts'
import type { Result } from '../domain/result.ts'
import { fail, succeed } from '../domain/result.ts'
import type { ContentRequest } from './contentFields.ts'
import { contentRequest } from './contentFields.ts'
import type { DeclaredImage } from './matchImages.ts'
import { matchImages } from './matchImages.ts'
import { firstFailure, paramPath } from './requestFailures.ts'

export type ContentRoute = Extract<Route, `v1beta.${string}`>

/** The request, and what its client calls the two fields that a model's capabilities may forbid. */
type ParsedContent = {
  readonly request: ImageRequest
  readonly paramNames: { readonly size: string; readonly aspectRatio: string }
}

/** The model of the path: family A's only. */
export function parseContentModel(name: string): Result<FamilyAModel, RequestFailure> {
  const model = familyAModels.find((model) => model === name)
  if (model !== undefined) return succeed(model)
  const known = familyAModels.join(', ')
  const message = `The model does not exist, or not on this route. Models here: ${known}.`
  return fail(invalidRequest('model_not_found', 'model', message))
}

/** Paths of image data inside the document, in either casing. */
export function isContentImagePath(path: readonly (string | number)[]): boolean {
  return (
    path.length === 6 &&
    path[0] === 'contents' &&
    path[2] === 'parts' &&
    (path[4] === 'inlineData' || path[4] === 'inline_data') &&
    path[5] === 'data'
  )
}

/**
 * A v1beta document as a request: normalized to camelCase, images by reference, and `imageConfig` moved
 * to `size` and `aspectRatio`, where every route has them. An edit is a request with inline images.
 */
export function parseContentRequest(
  route: ContentRoute,
  model: FamilyAModel,
  given: Json,
  images: readonly ReceivedImage[],
): Result<ParsedContent, RequestFailure> {
  const { document, rename, doubled } = toCamelCase(given)
  if (doubled !== undefined) {
    const param = paramPath(doubled)
    return fail(invalidRequest('invalid_value', param, `'${param}' is given in both casings.`))
  }
  const parsed = contentRequest.safeParse(document)
  if (!parsed.success) return fail(firstFailure(parsed.error, document, rename))
  const inputs = matchImages(declaredImages(parsed.data, rename), images)
  if (!inputs.ok) return inputs
  const { aspectRatio, imageSize } = parsed.data.generationConfig?.imageConfig ?? {}
  return succeed({
    request: {
      route,
      family: 'A',
      model,
      action: inputs.value.length > 0 ? 'edit' : 'generate',
      ...defined({ size: imageSize, aspectRatio }),
      body: { kind: 'content', content: contentDocument(parsed.data) },
      inputs: inputs.value,
    },
    paramNames: paramNames(rename),
  })
}

type Rename = (path: readonly PropertyKey[]) => readonly PropertyKey[]

function paramNames(rename: Rename): ParsedContent['paramNames'] {
  const within = ['generationConfig', 'imageConfig']
  return {
    size: paramPath(rename([...within, 'imageSize'])),
    aspectRatio: paramPath(rename([...within, 'aspectRatio'])),
  }
}

function declaredImages(request: ContentRequest, rename: Rename): readonly DeclaredImage[] {
  return request.contents.flatMap(({ parts }, turn) =>
    parts.flatMap(({ inlineData }, part) => {
      if (inlineData === undefined) return []
      const path = rename(['contents', turn, 'parts', part, 'inlineData', 'data'])
      return [{ path, mimeType: inlineData.mimeType }]
    }),
  )
}

function contentDocument(request: ContentRequest): ContentDocument {
  const { systemInstruction, safetySettings, generationConfig } = request
  const { imageConfig: _moved, ...config } = generationConfig ?? {}
  return {
    contents: withReferences(request.contents),
    ...(systemInstruction === undefined ? {} : { systemInstruction: present(systemInstruction) }),
    ...defined({ safetySettings }),
    ...(Object.keys(config).length === 0 ? {} : { generationConfig: present(config) }),
  }
}

/** `inlineData.data` becomes the index of the image among the request's inputs, in document order. */
function withReferences(contents: ContentRequest['contents']): readonly JsonObject[] {
  let input = 0
  return contents.map(({ role, parts }) => ({
    role,
    parts: parts.map(({ inlineData, ...others }) => ({
      ...present(others),
      ...(inlineData === undefined
        ? {}
        : { inlineData: { mimeType: inlineData.mimeType, input: input++ } }),
    })),
  }))
}

type Loose = { readonly [key: string]: Json | Loose | undefined }

/** Without absent members, which the type of JSON does not know. */
function present(object: Loose): JsonObject {
  const members = Object.entries(object).flatMap(([key, value]): [string, Json][] => {
    if (value === undefined) return []
    return [[key, isLoose(value) ? present(value) : value]]
  })
  return Object.fromEntries(members)
}

function isLoose(value: Json | Loose): value is Loose {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A v1beta document in camelCase that still knows what its client called each field. */
type CasedDocument = {
  readonly document: Json
  /** A path of the camelCase document in the client's own casing. */
  readonly rename: (path: readonly PropertyKey[]) => readonly PropertyKey[]
  /** Set when one object has the same field in both casings: the path of the second. */
  readonly doubled?: readonly PropertyKey[]
}

type Names = ReadonlyMap<string, string>

/** Google's REST interface takes both casings (research/wire.md section 1), so both are one request. */
function toCamelCase(document: Json): CasedDocument {
  const names = new WeakMap<object, Names>()
  let doubled: readonly PropertyKey[] | undefined

  function convert(value: Json, path: readonly PropertyKey[]): Json {
    if (value === null || typeof value !== 'object') return value
    if (isArray(value)) return value.map((item, i) => convert(item, [...path, i]))
    const members = new Map<string, Json>()
    const given = new Map<string, string>()
    for (const [name, member] of Object.entries(value)) {
      const camel = camelName(name)
      if (members.has(camel)) doubled ??= [...path, name]
      members.set(camel, convert(member, [...path, name]))
      given.set(camel, name)
    }
    const converted = Object.fromEntries(members)
    names.set(converted, given)
    return converted
  }

  function rename(path: readonly PropertyKey[]): readonly PropertyKey[] {
    let value: unknown = converted
    return path.map((step) => {
      if (typeof value !== 'object' || value === null) return step
      const given = names.get(value)?.get(String(step)) ?? step
      value = Reflect.get(value, step)
      return given
    })
  }

  const converted = convert(document, [])
  return { document: converted, rename, ...defined({ doubled }) }
}

function camelName(name: string): string {
  return name.replaceAll(/(?<=[a-z0-9])_([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

function isArray(value: Json): value is readonly Json[] {
  return Array.isArray(value)
}
