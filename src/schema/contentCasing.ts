import type { Json } from '../domain/imageRequest.ts'

/** A v1beta document in camelCase that still knows what its client called each field. */
export type CasedDocument = {
  readonly document: Json
  /** A path of the camelCase document in the client's own casing. */
  readonly rename: (path: readonly PropertyKey[]) => readonly PropertyKey[]
  /** Set when one object has the same field in both casings: the path of the second. */
  readonly doubled?: readonly PropertyKey[]
}

type Names = ReadonlyMap<string, string>

/** Google's REST interface takes both casings (research/wire.md section 1), so both are one request. */
export function toCamelCase(document: Json): CasedDocument {
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
  return { document: converted, rename, ...(doubled === undefined ? {} : { doubled }) }
}

function camelName(name: string): string {
  return name.replaceAll(/(?<=[a-z0-9])_([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

function isArray(value: Json): value is readonly Json[] {
  return Array.isArray(value)
}
