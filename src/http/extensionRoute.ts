import type { Caller } from '../domain/accounts/account.ts'
import type { Result } from '../domain/result.ts'
import type { FieldsSchema } from '../schema/extensionRequest.ts'
import { parseFields, parseQuery } from '../schema/extensionRequest.ts'
import { hasBody } from './server.ts'
import type { AccountHandler, ApiParts, HttpFailure, RouteContext } from './context.ts'
import { receiveJson } from './intake/receiveJson.ts'

// What the routes beside the API contract have in common. They check every name that a client sends; the
// routes of the contract ignore query parameters.

/** Makes the handler of an extension route. The query is checked before `handle` is called. */
export function withQuery<Query>(
  schema: FieldsSchema<Query>,
  handle: (context: RouteContext, caller: Caller, query: Query) => ReturnType<AccountHandler>,
): AccountHandler {
  return async (context, caller) => {
    // The constructor drops a question mark at the start, so one is added. For `…??limit=1` it would otherwise drop
    // a question mark that belongs to the name `?limit`.
    const query = parseQuery(schema, new URLSearchParams(`?${context.querystring}`))
    return query.ok ? handle(context, caller, query.value) : query.failure
  }
}

/** Limit for the JSON body of an extension route. The longest one contains a URL and a few names. */
const fieldsBytesMax = 64 * 1024

/** Reads and checks the JSON body of an extension route. A request without a body counts as `{}`. */
export async function receiveFields<Fields>(
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
