import { z } from 'zod'
import type { RequestFailure } from '../domain/failure.ts'
import type { Result } from '../domain/result.ts'
import { fail, succeed } from '../domain/result.ts'
import { invalidValue } from '../domain/requestFailures.ts'
import { firstFailure } from './firstFailure.ts'

/** The query or the body of a route that takes none. */
export const noFields = z.strictObject({})

/**
 * Validates the query of an extension route. A parameter that the route does not have is an error: a client
 * that misspells a filter must not get every row. A parameter that is given twice is an error too, because
 * nobody can say which value counts.
 */
export function parseQuery<Fields>(
  schema: z.ZodType<Fields>,
  query: URLSearchParams,
): Result<Fields, RequestFailure> {
  const twice = [...query.keys()].find((name) => query.getAll(name).length > 1)
  return twice === undefined
    ? parseFields(schema, Object.fromEntries(query))
    : fail(invalidValue(twice, 'the parameter is given more than once'))
}

/** Validates the JSON body of an extension route. Names the first field that is unknown, or else wrong. */
export function parseFields<Fields>(
  schema: z.ZodType<Fields>,
  document: unknown,
): Result<Fields, RequestFailure> {
  const parsed = schema.safeParse(document)
  if (parsed.success) return succeed(parsed.data)
  const { issues } = parsed.error
  const unknown = issues.filter(isUnknownField)
  return fail(firstFailure({ issues: unknown.length > 0 ? unknown : issues }, document))
}

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
  const unknown = asSent.error.issues.filter(isUnknownField)
  return unknown.length === 0
    ? succeed(parsed.data)
    : fail(firstFailure({ issues: unknown }, document, rename))
}

function isUnknownField({ code }: { readonly code: string }): boolean {
  return code === 'unrecognized_keys'
}

/** Returns the document without the members of objects that are null. */
function withoutNulls(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(withoutNulls)
  const members = Object.entries(value).filter(([, member]) => member !== null)
  return Object.fromEntries(members.map(([key, member]) => [key, withoutNulls(member)]))
}
