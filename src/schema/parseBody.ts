import type { z } from 'zod'
import type { RequestFailure } from '../domain/failure.ts'
import type { Result } from '../domain/result.ts'
import { fail, succeed } from '../domain/result.ts'
import { firstFailure } from './requestFailures.ts'

type Rename = Parameters<typeof firstFailure>[2]

/**
 * Validates the body of a route that makes a task. A field that is `null` reads as absent, because clients write
 * `null` for options that are not set: a required field is then missing. An unknown field is refused also when it
 * is `null`. The failure names the field, through `rename` in the client's casing.
 */
export function parseBody<Schema extends z.ZodType>(
  schema: Schema,
  document: unknown,
  rename?: Rename,
): Result<z.output<Schema>, RequestFailure> {
  const given = withoutNulls(document)
  const parsed = schema.safeParse(given)
  if (!parsed.success) return fail(firstFailure(parsed.error, given, rename))
  if (given === document) return succeed(parsed.data)
  const unknown = schema
    .safeParse(document)
    .error?.issues.find((issue) => issue.code === 'unrecognized_keys')
  return unknown === undefined
    ? succeed(parsed.data)
    : fail(firstFailure({ issues: [unknown] }, document, rename))
}

/** Returns the document without the members of objects that are null, and itself when there are none. */
function withoutNulls(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    const items = value.map(withoutNulls)
    return items.every((item, i) => item === value[i]) ? value : items
  }
  const members = Object.entries(value)
  const kept = members.flatMap(([key, member]) =>
    member === null ? [] : [[key, withoutNulls(member)] as const],
  )
  const isSame =
    kept.length === members.length && kept.every(([, member], i) => member === members[i]?.[1])
  return isSame ? value : Object.fromEntries(kept)
}
