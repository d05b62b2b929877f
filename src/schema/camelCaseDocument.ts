import { defined } from '../domain/defined.ts'
import type { Json } from '../domain/json.ts'
import { camelCaseKey, isArray } from '../domain/json.ts'

/** A document with keys in camelCase, together with the keys as the client wrote them. */
export type CasedDocument = {
  readonly document: Json
  /** Returns the path with each key as the client wrote it. */
  readonly rename: (path: Path) => Path
  /** Present when an object has the same key in both casings. This is the path of the second key. */
  readonly doubled?: Path
}

type Path = readonly PropertyKey[]

/**
 * Changes all keys of a document to camelCase. Google's REST interface accepts camelCase and snake_case, even
 * mixed in one document. After this change, the same request has the same fingerprint in either casing.
 */
export function camelCaseDocument(given: Json): CasedDocument {
  /** For each converted object, a map from the camelCase key to the key that the client wrote. */
  const givenKeys = new WeakMap<object, ReadonlyMap<string, string>>()
  let doubled: Path | undefined

  function convert(value: Json, path: Path): Json {
    if (value === null || typeof value !== 'object') return value
    if (isArray(value)) return value.map((item, i) => convert(item, [...path, i]))
    const members = new Map<string, Json>()
    const keys = new Map<string, string>()
    for (const [key, member] of Object.entries(value)) {
      const camelKey = camelCaseKey(key)
      const before = members.get(camelKey)
      // A field that is null reads as absent.
      if (before !== undefined && member === null) continue
      if (before !== undefined && before !== null) doubled ??= [...path, key]
      members.set(camelKey, convert(member, [...path, key]))
      keys.set(camelKey, key)
    }
    const converted = Object.fromEntries(members)
    givenKeys.set(converted, keys)
    return converted
  }

  function rename(path: Path): Path {
    let value: unknown = document
    return path.map((step) => {
      if (typeof value !== 'object' || value === null) return step
      const key = givenKeys.get(value)?.get(String(step)) ?? step
      value = Reflect.get(value, step)
      return key
    })
  }

  const document = convert(given, [])
  return { document, rename, ...defined({ doubled }) }
}
