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
  const asSent = schema.safeParse(document)
  if (asSent.success) return succeed(asSent.data)
  const given = withoutNulls(document)
  const parsed = schema.safeParse(given)
  if (!parsed.success) return fail(firstFailure(parsed.error, given, rename))
  const unknown = asSent.error.issues.find((issue) => issue.code === 'unrecognized_keys')
  return unknown === undefined
    ? succeed(parsed.data)
    : fail(firstFailure({ issues: [unknown] }, document, rename))
}

/** Returns the document without the members of objects that are null. */
function withoutNulls(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(withoutNulls)
  const members = Object.entries(value).filter(([, member]) => member !== null)
  return Object.fromEntries(members.map(([key, member]) => [key, withoutNulls(member)]))
}
