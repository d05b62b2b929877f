import type { ContentRequest } from './contentFields.ts'
import { contentRequest } from './contentFields.ts'
import { defined } from '../domain/defined.ts'
import type { RequestFailure } from '../domain/failure.ts'
import { invalidRequest } from '../domain/failure.ts'
import type { Json, JsonObject } from '../domain/json.ts'
import { camelCased, camelCaseKey, isArray } from '../domain/json.ts'
import type { ImageMimeType, ModelId } from '../domain/models/models.ts'
import type { Result } from '../domain/result.ts'
import { fail, succeed } from '../domain/result.ts'
import type {
  ContentDocument,
  ReceivedImage,
  Route,
  UnstoredRequest,
} from '../domain/tasks/imageRequest.ts'
import { wrongImage } from './wrongImage.ts'
import { parseBody } from './parseFields.ts'
import { paramPath } from '../domain/requestFailures.ts'

/**
 * Validates the body of a v1beta route. In the returned request, keys are in camelCase, and images are
 * references to its inputs. `size` and `aspectRatio` are outside of the document, where all routes have
 * them. A document with images is an edit.
 */
export function parseContentRequest(
  route: ContentRoute,
  model: ModelId,
  given: Json,
  images: readonly ReceivedImage[],
): Result<ParsedContent, RequestFailure> {
  const doubled = fieldInBothCasings(given)
  if (doubled !== undefined) {
    const param = paramPath(doubled)
    const message = `'${param}' is given in both camelCase and snake_case.`
    return fail(invalidRequest('invalid_value', param, message))
  }
  const rename = (path: Path) => asWritten(given, path)
  const parsed = parseBody(contentRequest, camelCased(given), rename)
  if (!parsed.ok) return parsed
  const wrong = wrongImage(declaredTypes(parsed.value), images)
  if (wrong !== undefined) return fail(wrong)
  const { aspectRatio, imageSize } = parsed.value.generationConfig?.imageConfig ?? {}
  return succeed({
    request: {
      route,
      model,
      action: images.length > 0 ? 'edit' : 'generate',
      ...defined({ size: imageSize, aspectRatio }),
      body: { kind: 'content', content: contentDocument(parsed.value) },
      inputs: images,
    },
    paramNames: {
      size: paramPath(rename([...imageConfigPath, 'imageSize'])),
      aspectRatio: paramPath(rename([...imageConfigPath, 'aspectRatio'])),
      thinkingConfig: paramPath(rename(thinkingConfigPath)),
      thinkingLevel: paramPath(rename([...thinkingConfigPath, 'thinkingLevel'])),
    },
  })
}

/** The request, and how the client wrote the names of the fields that a model may not support. */
type ParsedContent = {
  readonly request: UnstoredRequest
  readonly paramNames: Readonly<
    Record<'size' | 'aspectRatio' | 'thinkingConfig' | 'thinkingLevel', string>
  >
}

export type ContentRoute = Extract<Route, `v1beta.${string}`>

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

const imageConfigPath = ['generationConfig', 'imageConfig']
const thinkingConfigPath = ['generationConfig', 'thinkingConfig']

type Path = readonly PropertyKey[]

/**
 * Returns the path of a field that has a value in both casings of its name. Google's REST interface accepts camelCase
 * and snake_case, even mixed in one document.
 */
function fieldInBothCasings(value: Json): Path | undefined {
  if (value === null || typeof value !== 'object') return undefined
  const names = new Set<string>()
  for (const [key, member] of isArray(value) ? value.entries() : Object.entries(value)) {
    // A field that is null reads as absent.
    if (member === null) continue
    const name = camelCaseKey(String(key))
    if (names.has(name)) return [key]
    names.add(name)
    const inside = fieldInBothCasings(member)
    if (inside !== undefined) return [key, ...inside]
  }
  return undefined
}

/** Returns a path of the document in camelCase with each key as the client wrote it. */
function asWritten(given: Json, path: Path): Path {
  let value: Json | undefined = given
  return path.map((step) => {
    const fields = value !== null && typeof value === 'object' ? Object.entries<Json>(value) : []
    const named = fields.filter(([key]) => camelCaseKey(key) === String(step))
    const [key, member] = named.find(([, member]) => member !== null) ?? named[0] ?? []
    value = member
    return typeof step === 'number' ? step : (key ?? step)
  })
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
