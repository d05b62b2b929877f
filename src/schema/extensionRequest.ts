import { z } from 'zod'
import type { RequestFailure } from '../domain/failure.ts'
import type { Result } from '../domain/result.ts'
import { fail, succeed } from '../domain/result.ts'
import { firstFailure, invalidValue, paramPath, unknownParameter } from './requestFailures.ts'

/**
 * The schema of the query or the body of an extension route: a strict object. Every value of a query arrives as a
 * text, and the schema converts it.
 */
export type FieldsSchema<Fields> = z.ZodType<Fields> & Pick<z.ZodObject, 'shape'>

/** The query or the body of a route that takes none. */
export const noFields = z.strictObject({})

/**
 * Validates the query of an extension route. A parameter that the route does not have is an error: a client
 * that misspells a filter must not get every row. A parameter that is given twice is an error too, because
 * nobody can say which value counts.
 */
export function parseQuery<Fields>(
  schema: FieldsSchema<Fields>,
  query: URLSearchParams,
): Result<Fields, RequestFailure> {
  for (const name of query.keys()) {
    if (!Object.hasOwn(schema.shape, name)) return fail(unknownParameter(paramPath([name])))
    if (query.getAll(name).length > 1) {
      return fail(invalidValue(name, 'the parameter is given more than once'))
    }
  }
  return parseFields(schema, Object.fromEntries(query))
}

/** Validates the JSON body of an extension route. Names the first field that is wrong or unknown. */
export function parseFields<Fields>(
  schema: FieldsSchema<Fields>,
  document: unknown,
): Result<Fields, RequestFailure> {
  const parsed = schema.safeParse(document)
  return parsed.success ? succeed(parsed.data) : fail(firstFailure(parsed.error, document))
}
