import type { AccountRoute } from './authenticate.ts'
import { accountRoute } from './authenticate.ts'
import type { Caller } from '../domain/accounts/account.ts'
import type { ApiParts, HttpFailure, RouteContext } from './context.ts'
import type { InputSchema } from './intake/receiveInput.ts'
import { describeInput, receiveInput } from './intake/receiveInput.ts'
import type { Route } from './route.ts'
import { noFields } from '../schema/extensionRequest.ts'

// The routes beside the API contract that need an API key. They refuse every name that they do not know, in the query
// and in the body; the routes of the contract ignore query parameters.

type Declaration<Input> = Omit<AccountRoute, 'extension' | 'query' | 'body' | 'handler'> & {
  /** Absent for a route that takes none. */
  readonly input?: InputSchema<Input>
  /** Gets the checked input of its request. */
  readonly handler: (
    parts: ApiParts,
  ) => (context: RouteContext, caller: Caller, input: Input) => Promise<HttpFailure | undefined>
}

/** Makes a route of the extensions. `input` is checked, and then passed to the handler. */
export function extensionRoute<Input>(declaration: Declaration<Input>): Route<ApiParts>
export function extensionRoute({
  input = noFields,
  handler,
  errors = [],
  ...declaration
}: Declaration<object>): Route<ApiParts> {
  const described = describeInput(declaration.method, input)
  return accountRoute({
    ...declaration,
    ...described,
    extension: true,
    errors: [...described.errors, ...errors],
    handler: (parts) => {
      const handle = handler(parts)
      return async (context, caller) => {
        const { largeBodies } = parts
        const checked = await receiveInput(context, input, { largeBodies, payer: caller.accountId })
        return checked.ok ? handle(context, caller, checked.value) : checked.failure
      }
    },
  })
}
