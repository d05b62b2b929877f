import type { Json, JsonObject } from '../json.ts'
import { isArray } from '../json.ts'
import type { ImageMimeType } from '../models/models.ts'

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

/**
 * Returns the native response with the URL of the image instead of its bytes, for `result` of the task
 * record. Family A gets `fileData {mimeType, fileUri}` instead of `inlineData`, family B gets `url` instead
 * of `b64_json`.
 */
export function nativeByUrl(
  native: NativeResponse,
  image: { readonly url: string; readonly mimeType: ImageMimeType },
): JsonObject {
  const inline = native.imagePath.at(-1) === 'b64_json'
  const holder = native.imagePath.slice(0, inline ? -1 : -2)
  const by: readonly [string, string, Json] = inline
    ? ['b64_json', 'url', image.url]
    : ['inlineData', 'fileData', { mimeType: image.mimeType, fileUri: image.url }]
  return asObject(replaceAt(native.response, holder, (value) => renameMember(value, ...by)))
}

/**
 * Returns the native response as JSON text in two parts. The base64 of the image belongs between the two
 * parts. Because of this, the server can stream the image instead of building one large string, and it knows
 * the total length before it starts.
 */
export function splitAtImage(native: NativeResponse): {
  readonly before: string
  readonly after: string
} {
  const [before, after] = split(native.response, native.imagePath)
  return { before, after }
}

function split(value: Json, path: Path): readonly [string, string] {
  const [step, ...rest] = path
  if (step === undefined) return ['"', '"']
  const entries = entriesOf(value)
  const at = entries.findIndex(([key]) => key === step)
  const entry = entries[at]
  if (entry === undefined) throw new Error('Bug: the image path does not lead into the response')
  const [before, after] = split(entry[1], rest)
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  const key = typeof step === 'string' ? `${JSON.stringify(step)}:` : ''
  const ahead = entries.slice(0, at).map((entry) => `${memberText(entry)},`)
  const behind = entries.slice(at + 1).map((entry) => `,${memberText(entry)}`)
  return [`${open}${ahead.join('')}${key}${before}`, `${after}${behind.join('')}${close}`]
}

type Entry = readonly [string | number, Json]

function entriesOf(value: Json): readonly Entry[] {
  if (isArray(value)) return value.map((item, i): Entry => [i, item])
  return Object.entries(asObject(value))
}

function memberText([key, value]: Entry): string {
  return typeof key === 'string'
    ? `${JSON.stringify(key)}:${JSON.stringify(value)}`
    : JSON.stringify(value)
}

function replaceAt(value: Json, path: Path, change: (value: Json) => Json): Json {
  const [step, ...rest] = path
  if (step === undefined) return change(value)
  if (isArray(value)) {
    return value.map((item, i) => (i === step ? replaceAt(item, rest, change) : item))
  }
  const members = Object.entries(asObject(value)).map(([key, member]): [string, Json] => [
    key,
    key === step ? replaceAt(member, rest, change) : member,
  ])
  return Object.fromEntries(members)
}

/**
 * Renames one member and replaces its value. Clients see the order of the members, so the order stays the
 * same.
 */
function renameMember(value: Json, from: string, to: string, member: Json): Json {
  const members = Object.entries(asObject(value)).map(([key, given]): [string, Json] =>
    key === from ? [to, member] : [key, given],
  )
  return Object.fromEntries(members)
}

function asObject(value: Json): JsonObject {
  if (value === null || typeof value !== 'object' || isArray(value)) {
    throw new Error('Bug: the image path does not lead through objects')
  }
  return value
}
