import type {
  ContentDocument,
  ImageRequest,
  Json,
  JsonObject,
  Route,
} from '../domain/imageRequest.ts'
import { familyAModels } from '../domain/models.ts'
import type { FamilyAModel } from '../domain/models.ts'
import type { ReceivedImage } from '../domain/receivedImage.ts'
import type { RequestFailure } from '../domain/requestFailure.ts'
import { invalidRequest } from '../domain/requestFailure.ts'
import type { Result } from '../domain/result.ts'
import { fail, succeed } from '../domain/result.ts'
import { toCamelCase } from './contentCasing.ts'
import type { ContentRequest } from './contentFields.ts'
import { contentRequest } from './contentFields.ts'
import { firstFailure } from './firstFailure.ts'
import type { DeclaredImage } from './matchImages.ts'
import { matchImages } from './matchImages.ts'
import { paramPath } from './paramPath.ts'

export type ContentRoute = Extract<Route, `v1beta.${string}`>

/** The request, and what its client calls the two fields that a model's capabilities may forbid. */
export type ParsedContent = {
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
      ...(imageSize === undefined ? {} : { size: imageSize }),
      ...(aspectRatio === undefined ? {} : { aspectRatio }),
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
    ...(safetySettings === undefined ? {} : { safetySettings }),
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
