/** What `JSON.parse` can return, as a readonly type. */
export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [key: string]: Json }
export type JsonObject = { readonly [key: string]: Json }

/** The keys and indices that lead from the top of a document to one value. */
export type JsonPath = readonly (string | number)[]

/** Returns the value of a JSON text, if it is one. */
export function parsed(text: string): Json | undefined {
  try {
    const value: Json = JSON.parse(text)
    return value
  } catch {
    return undefined
  }
}

// The functions below read a vendor's JSON. They never trust its shape.

/** Returns the value if it is an object. */
export function objectOf(value: Json | undefined): JsonObject | undefined {
  return value !== null && typeof value === 'object' && !isArray(value) ? value : undefined
}

/** Returns the items of an array, and no items for any other value. */
export function itemsOf(value: Json | undefined): readonly Json[] {
  return value !== null && typeof value === 'object' && isArray(value) ? value : []
}

/** Returns those items of an array that are objects. */
export function objectsOf(value: Json | undefined): readonly JsonObject[] {
  return itemsOf(value).flatMap((item) => {
    const object = objectOf(item)
    return object === undefined ? [] : [object]
  })
}

/** Returns the value if it is a string. */
export function textOf(value: Json | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** Returns the value if it is a whole number of at least 0. */
export function countOf(value: Json | undefined): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined
}

/** Returns `inlineData` for `inline_data`. Google's REST interface accepts and sends keys in both forms. */
export function camelCaseKey(key: string): string {
  return key.replaceAll(/(?<=[a-z0-9])_([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

/**
 * Returns the value with every key in camelCase. Of a key that an object has in both forms, the last counts, but null
 * never does.
 */
export function camelCased(value: Json): Json {
  if (value === null || typeof value !== 'object') return value
  if (isArray(value)) return value.map(camelCased)
  const members = Object.entries(value).map(
    ([key, member]) => [camelCaseKey(key), camelCased(member)] as const,
  )
  const isNull = ([, member]: readonly [string, Json]) => member === null
  return Object.fromEntries([...members.filter(isNull), ...members.filter((each) => !isNull(each))])
}

/** Does the same as `Array.isArray`. Its type also narrows readonly arrays. */
export function isArray(value: Json): value is readonly Json[] {
  return Array.isArray(value)
}

/** Returns the JSON text of a value, with the keys of every object sorted by code unit. */
export function sortedJson(value: Json): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  if (isArray(value)) return `[${value.map(sortedJson).join(',')}]`
  const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
  const texts = members.map(([key, member]) => `${JSON.stringify(key)}:${sortedJson(member)}`)
  return `{${texts.join(',')}}`
}
