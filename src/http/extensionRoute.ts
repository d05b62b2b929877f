import type { z } from 'zod'
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

/**
 * Makes a route of the extensions. `input` is the query of a GET. Of other methods it is the JSON body, and a request
 * without a body counts as `{}`. It is checked, and then passed to the handler.
 */
export function extensionRoute<Input>(
  declaration: Omit<RouteDeclaration, 'query' | 'body'> & {
    readonly method: Route['method']
    readonly input: FieldsSchema<Input> & z.ZodObject
    readonly handler: InputHandler<Input>
  },
): Route {
  const { input, handler, ...rest } = declaration
  const isRead = rest.method === 'GET'
  const hasFields = Object.keys(input.shape).length > 0
  return {
    ...rest,
    extension: true,
    access: 'account',
    envelope: 'full',
    ...(isRead ? { query: input } : hasFields ? { body: json(input) } : {}),
    errors: [...(isRead ? queryErrors : bodyErrors), ...rest.errors],
    handler: (parts) => {
      const handle = handler(parts)
      return async (context, caller) => {
        const checked = isRead
          ? parseQuery(input, queryOf(context))
          : await receiveFields(parts, context, caller, input)
        return checked.ok ? handle(context, caller, checked.value) : checked.failure
      }
    },
  }
}

const queryErrors = ['invalid_value', 'unknown_parameter'] as const

/** A handler that gets the checked input of its request. */
type InputHandler<Input> = (
  parts: ApiParts,
) => (context: RouteContext, caller: Caller, input: Input) => Promise<HttpFailure | undefined>

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
  const query = parseQuery(noFields, queryOf(context))
  if (!query.ok) return query
  if (!hasBody(context.req)) return parseFields(schema, {})
  const room = parts.largeBodies.open(caller.accountId)
  const options = { limitBytes: fieldsBytesMax, room }
  const received = await receiveJson(context, options, () => false).finally(room.end)
  return received.ok ? parseFields(schema, received.value.document) : received
}
