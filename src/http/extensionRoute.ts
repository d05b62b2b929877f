import type { Caller } from '../domain/accounts/account.ts'
import type { Result } from '../domain/result.ts'
import type { FieldsSchema } from '../schema/extensionRequest.ts'
import { noFields, parseFields, parseQuery } from '../schema/extensionRequest.ts'
import { hasBody } from './server.ts'
import type { ApiParts, HttpFailure, RouteContext } from './context.ts'
import { bodyErrors } from './errorNames.ts'
import { receiveJson } from './intake/receiveJson.ts'
import type { Route, RouteDeclaration } from './route.ts'
import { json } from './route.ts'

// The routes beside the API contract that need an API key. They refuse every name that they do not know, in the query
// and in the body; the routes of the contract ignore query parameters.

const extension = { extension: true, access: 'account', envelope: 'full' } as const

/** A handler that gets the checked input of its request. */
type InputHandler<Input> = (
  parts: ApiParts,
) => (context: RouteContext, caller: Caller, input: Input) => Promise<HttpFailure | undefined>

/** Makes a GET route of the extensions. `query` is checked, and then passed to the handler. */
export function readingRoute<Query>(
  declaration: Omit<RouteDeclaration, 'query' | 'body'> & {
    readonly query: FieldsSchema<Query> & RouteDeclaration['query']
    readonly handler: InputHandler<Query>
  },
): Route {
  return {
    ...declaration,
    ...extension,
    method: 'GET',
    errors: ['invalid_value', 'unknown_parameter', ...declaration.errors],
    handler: (parts) => {
      const handle = declaration.handler(parts)
      return async (context, caller) => {
        const query = parseQuery(declaration.query, queryOf(context))
        return query.ok ? handle(context, caller, query.value) : query.failure
      }
    },
  }
}

/**
 * Makes a POST or DELETE route of the extensions, which takes no query. The JSON body is checked by `fields`, and then
 * passed to the handler. A request without a body counts as `{}`.
 */
export function changingRoute<Fields>(
  declaration: Omit<RouteDeclaration, 'query' | 'body'> & {
    readonly method: 'POST' | 'DELETE'
    readonly fields: FieldsSchema<Fields>
    readonly handler: InputHandler<Fields>
  },
): Route {
  const { fields, handler, ...rest } = declaration
  return {
    ...rest,
    ...extension,
    ...(Object.keys(fields.shape).length === 0 ? {} : { body: json(fields) }),
    errors: [...bodyErrors, ...declaration.errors],
    handler: (parts) => {
      const handle = handler(parts)
      return async (context, caller) => {
        const query = parseQuery(noFields, queryOf(context))
        if (!query.ok) return query.failure
        const received = await receiveFields(parts, context, caller, fields)
        return received.ok ? handle(context, caller, received.value) : received.failure
      }
    },
  }
}

/**
 * The constructor of `URLSearchParams` drops a question mark at the start, so one is added. For `…??limit=1` it would
 * otherwise drop a question mark that belongs to the name `?limit`.
 */
function queryOf(context: RouteContext): URLSearchParams {
  return new URLSearchParams(`?${context.querystring}`)
}

/** Limit for the JSON body of an extension route. The longest one contains a URL and a few names. */
const fieldsBytesMax = 64 * 1024

async function receiveFields<Fields>(
  parts: ApiParts,
  context: RouteContext,
  caller: Caller,
  schema: FieldsSchema<Fields>,
): Promise<Result<Fields, HttpFailure>> {
  if (!hasBody(context.req)) return parseFields(schema, {})
  const room = parts.largeBodies.open(caller.accountId)
  const options = { limitBytes: fieldsBytesMax, room }
  const received = await receiveJson(context, options, () => false).finally(room.end)
  return received.ok ? parseFields(schema, received.value.document) : received
}
