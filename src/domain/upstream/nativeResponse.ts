import type { Json, JsonObject } from '../json.ts'
import { isArray, objectOf, parsed } from '../json.ts'
import { storedResponseBytesMax } from '../limits.ts'
import type { Family, ImageMimeType } from '../models/models.ts'

/**
 * The family's native response without the image bytes. The member at `imagePath` inside `response` is an
 * empty text instead of the base64. For family A this member is `inlineData.data` of a part, for family B
 * `data[0].b64_json`.
 */
export type NativeResponse = {
  readonly response: JsonObject
  readonly imagePath: readonly (string | number)[]
}

type Path = NativeResponse['imagePath']

/** Nothing shorter is left out, so that the names and values which every response has stay. */
const leftOutLengthMin = 64

/**
 * Returns a response of at most `storedResponseBytesMax` bytes: the longest texts are left out, such as signatures of
 * thoughts. `leftOutBytes` says how much that is.
 */
export function fittedResponse(response: JsonObject): {
  readonly response: JsonObject
  readonly leftOutBytes: number
} {
  const bytes = Buffer.byteLength(JSON.stringify(response))
  let tooManyBytes = bytes - storedResponseBytesMax
  if (tooManyBytes <= 0) return { response, leftOutBytes: 0 }
  let lengthMax = Infinity
  for (const length of textLengths(response).toSorted((a, b) => b - a)) {
    if (tooManyBytes <= 0 || length < leftOutLengthMin) break
    tooManyBytes -= length
    lengthMax = length - 1
  }
  const text = JSON.stringify(response, (_key, value: Json) =>
    typeof value === 'string' && value.length > lengthMax ? undefined : value,
  )
  return {
    response: objectOf(parsed(text)) ?? {},
    leftOutBytes: bytes - Buffer.byteLength(text),
  }
}

function textLengths(value: Json): readonly number[] {
  if (typeof value === 'string') return [value.length]
  return value === null || typeof value !== 'object'
    ? []
    : Object.values<Json>(value).flatMap(textLengths)
}

type LinkedImage = { readonly url: string; readonly mimeType: ImageMimeType }

/** How each family writes an image that is given by its URL. */
const byUrl: Readonly<Record<Family, (native: NativeResponse, image: LinkedImage) => JsonObject>> =
  {
    /** `fileData {mimeType, fileUri}` in the place of `inlineData`. */
    A: ({ response, imagePath }, { url: fileUri, mimeType }) =>
      changed(response, imagePath.slice(0, -1), 'fileData', { mimeType, fileUri }),
    /** `url` in the place of `b64_json`. */
    B: ({ response, imagePath }, { url }) => changed(response, imagePath, 'url', url),
  }

/**
 * Returns the native response of a family with the URL of the image instead of its bytes, for `result` of the task
 * record.
 */
export function nativeByUrl(
  family: Family,
  native: NativeResponse,
  image: LinkedImage,
): JsonObject {
  return byUrl[family](native, image)
}

/**
 * Returns the native response as JSON text in two parts. The base64 of the image belongs between the two
 * parts. Because of this, the server can stream the image instead of building one large string, and it knows
 * the total length before it starts.
 */
export function splitAtImage({ response, imagePath }: NativeResponse): {
  readonly before: string
  readonly after: string
} {
  // A lone surrogate marks the place: no other text of a stored response has one, and JSON escapes it.
  const marked = changed(response, imagePath, imagePath.at(-1), '\ud800')
  const [before = '', after] = JSON.stringify(marked).split('"\\ud800"')
  if (after === undefined) throw new Error('Bug: the image path does not lead into the response')
  return { before: `${before}"`, after: `"${after}` }
}

/**
 * Returns the response with another value, and maybe another key, for the member at `path`. Clients see the order of
 * the members, so the order stays the same.
 */
function changed(
  value: JsonObject,
  path: Path,
  key: Path[number] | undefined,
  to: Json,
): JsonObject {
  const [step, ...rest] = path
  const members = Object.entries(value).map(([given, member]): [string, Json] => {
    if (given !== step) return [given, member]
    return rest.length === 0 ? [String(key), to] : [given, changedIn(member, rest, key, to)]
  })
  return Object.fromEntries(members)
}

function changedIn(value: Json, path: Path, key: Path[number] | undefined, to: Json): Json {
  if (value === null || typeof value !== 'object') {
    throw new Error('Bug: the image path does not lead through objects')
  }
  if (!isArray(value)) return changed(value, path, key, to)
  return value.map((item, at) => (at === path[0] ? changedIn(item, path.slice(1), key, to) : item))
}
