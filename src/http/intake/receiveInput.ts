import type { z } from 'zod'
import type { Result } from '../../domain/result.ts'
import { noFields, parseFields, parseQuery } from '../../schema/parseFields.ts'
import type { ByteBudget } from '../../bytes/byteBudget.ts'
import type { HttpFailure } from '../errors.ts'
import type { Route, RouteContext } from '../route.ts'
import { bodyErrors } from '../errorTable.ts'
import { json } from '../route.ts'
import { hasBody } from './body.ts'
import { receiveJson } from './receiveJson.ts'

/**
 * The input of a route beside the API contract: the query of a GET, and the JSON body of other methods, where a request
 * without a body counts as `{}`. Every name that the schema does not have is refused.
 */
export type InputSchema<Input> = z.ZodType<Input> & z.ZodObject

/** Returns the part of a declaration that describes the input. */
export function describeInput(
  method: Route['method'],
  input: z.ZodObject,
): Pick<Route, 'query' | 'body'> & Required<Pick<Route, 'errors'>> {
  if (method === 'GET') return { query: input, errors: queryErrors }
  const hasFields = Object.keys(input.shape).length > 0
  return { ...(hasFields ? { body: json(input) } : {}), errors: bodyErrors }
}

const queryErrors = ['invalid_value', 'unknown_parameter'] as const

/** Limit for the JSON body. The longest one contains a URL and a few names. */
const fieldsBytesMax = 64 * 1024

/** Reads and checks the input. `payer` is whose share of the memory for bodies it takes. */
export async function receiveInput<Input>(
  context: RouteContext,
  schema: InputSchema<Input>,
  { largeBodies, payer }: { readonly largeBodies: ByteBudget; readonly payer: string },
): Promise<Result<Input, HttpFailure>> {
  // Koa's HEAD is answered by the route of GET.
  if (context.method === 'GET' || context.method === 'HEAD') {
    return parseQuery(schema, queryOf(context))
  }
  const query = withoutQuery(context)
  if (!query.ok) return query
  if (!hasBody(context.req)) return parseFields(schema, {})
  const room = largeBodies.open(payer)
  const options = { limitBytes: fieldsBytesMax, room }
  const received = await receiveJson(context, options, () => false).finally(room.end)
  return received.ok ? parseFields(schema, received.value.document) : received
}

/** Fails when a request has a query, on a route that takes none. */
export function withoutQuery(context: RouteContext) {
  return parseQuery(noFields, queryOf(context))
}

/**
 * The constructor of `URLSearchParams` drops a question mark at the start, so one is added. For `…??limit=1` it would
 * otherwise drop a question mark that belongs to the name `?limit`.
 */
export function queryOf(context: RouteContext): URLSearchParams {
  return new URLSearchParams(`?${context.querystring}`)
}
