import type { Json, JsonObject } from '../domain/imageRequest.ts'
import { isArray } from './jsonMember.ts'

/** The same document with every key in camelCase: some upstreams write `inline_data` for `inlineData`. */
export function camelCased(object: JsonObject): JsonObject {
  const members = Object.entries(object).map(([key, value]): [string, Json] => [
    key.replaceAll(/([a-z0-9])_([a-z])/g, (_, before: string, letter: string) => {
      return before + letter.toUpperCase()
    }),
    camelCasedValue(value),
  ])
  return Object.fromEntries(members)
}

function camelCasedValue(value: Json): Json {
  if (value === null || typeof value !== 'object') return value
  return isArray(value) ? value.map(camelCasedValue) : camelCased(value)
}
