import type { CasedDocument } from './camelCaseDocument.ts'
import { camelCaseDocument } from './camelCaseDocument.ts'
import type { ContentRequest } from './contentFields.ts'
import { contentRequest } from './contentFields.ts'
import { defined } from '../domain/defined.ts'
import type { RequestFailure } from '../domain/failure.ts'
import { invalidRequest } from '../domain/failure.ts'
import type { Json, JsonObject } from '../domain/json.ts'
import type { FamilyAModel, ImageMimeType } from '../domain/models/models.ts'
import { familyAModels } from '../domain/models/models.ts'
import type { Result } from '../domain/result.ts'
import { fail, succeed } from '../domain/result.ts'
import type {
  ContentDocument,
  ReceivedImage,
  Route,
  UnstoredRequest,
} from '../domain/tasks/imageRequest.ts'
import { matchImages } from './matchImages.ts'
import { parseBody } from './parseBody.ts'
import { modelNotFound, paramPath } from './requestFailures.ts'

/**
 * Validates the body of a v1beta route. In the returned request, keys are in camelCase, and images are
 * references to its inputs. `size` and `aspectRatio` are outside of the document, where all routes have
 * them. A document with images is an edit.
 */
export function parseContentRequest(
  route: ContentRoute,
  model: FamilyAModel,
  given: Json,
  images: readonly ReceivedImage[],
): Result<ParsedContent, RequestFailure> {
  const { document, rename, doubled } = camelCaseDocument(given)
  if (doubled !== undefined) {
    const param = paramPath(doubled)
    const message = `'${param}' is given in both camelCase and snake_case.`
    return fail(invalidRequest('invalid_value', param, message))
  }
  const parsed = parseBody(contentRequest, document, rename)
  if (!parsed.ok) return parsed
  const inputs = matchImages(declaredTypes(parsed.value), images)
  if (!inputs.ok) return inputs
  const { aspectRatio, imageSize } = parsed.value.generationConfig?.imageConfig ?? {}
  return succeed({
    request: {
      route,
      family: 'A',
      model,
      action: inputs.value.length > 0 ? 'edit' : 'generate',
      ...defined({ size: imageSize, aspectRatio }),
      body: { kind: 'content', content: contentDocument(parsed.value) },
      inputs: inputs.value,
    },
    paramNames: paramNames(rename),
  })
}

/** The request, and how the client wrote the names of the two fields that a model may not support. */
type ParsedContent = {
  readonly request: UnstoredRequest
  readonly paramNames: { readonly size: string; readonly aspectRatio: string }
}

export type ContentRoute = Extract<Route, `v1beta.${string}`>

/** Returns the model that the path names. Only models of family A have this route. */
export function parseContentModel(name: string): Result<FamilyAModel, RequestFailure> {
  const model = familyAModels.find((model) => model === name)
  return model === undefined ? fail(modelNotFound(familyAModels)) : succeed(model)
}

/** Returns whether a path of the document leads to image data, in camelCase or snake_case. */
export function isContentImagePath(path: readonly (string | number)[]): boolean {
  return (
    path.length === 6 &&
    path[0] === 'contents' &&
    path[2] === 'parts' &&
    (path[4] === 'inlineData' || path[4] === 'inline_data') &&
    path[5] === 'data'
  )
}

function paramNames(rename: CasedDocument['rename']): ParsedContent['paramNames'] {
  const imageConfig = ['generationConfig', 'imageConfig']
  return {
    size: paramPath(rename([...imageConfig, 'imageSize'])),
    aspectRatio: paramPath(rename([...imageConfig, 'aspectRatio'])),
  }
}

function declaredTypes({ contents }: ContentRequest): readonly ImageMimeType[] {
  return contents.flatMap(({ parts }) =>
    parts.flatMap(({ inlineData }) => inlineData?.mimeType ?? []),
  )
}

function contentDocument(request: ContentRequest): ContentDocument {
  const { systemInstruction, safetySettings, generationConfig } = request
  const { imageConfig: _, ...config } = generationConfig ?? {}
  return {
    contents: withReferences(request.contents),
    ...defined({ systemInstruction, safetySettings }),
    ...(Object.keys(config).length === 0 ? {} : { generationConfig: config }),
  }
}

/**
 * Replaces each `inlineData.data` with `inlineData.input`: the index of the image among the request's inputs.
 */
function withReferences(contents: ContentRequest['contents']): readonly JsonObject[] {
  let input = 0
  return contents.map(({ role, parts }) => ({
    role,
    parts: parts.map(({ inlineData, ...others }) => ({
      ...others,
      ...(inlineData === undefined
        ? {}
        : { inlineData: { mimeType: inlineData.mimeType, input: input++ } }),
    })),
  }))
}
