import type { Caller } from '../domain/accounts/account.ts'
import type { ApiParts, HttpFailure, RouteContext } from './context.ts'
import type { InputSchema } from './intake/receiveInput.ts'
import { describeInput, receiveInput } from './intake/receiveInput.ts'
import type { Route, RouteDeclaration } from './route.ts'

// The routes beside the API contract that need an API key. They refuse every name that they do not know, in the query
// and in the body; the routes of the contract ignore query parameters.

/** Makes a route of the extensions. `input` is checked, and then passed to the handler. */
export function extensionRoute<Input>(
  declaration: Omit<RouteDeclaration, 'query' | 'body'> & {
    readonly method: Route['method']
    readonly input: InputSchema<Input>
    readonly handler: InputHandler<Input>
  },
): Route {
  const { input, handler, ...rest } = declaration
  const described = describeInput(rest.method, input)
  return {
    ...rest,
    ...described,
    extension: true,
    access: 'account',
    envelope: 'full',
    errors: [...described.errors, ...rest.errors],
    handler: (parts) => {
      const handle = handler(parts)
      return async (context, caller) => {
        const { largeBodies } = parts
        const checked = await receiveInput(context, input, { largeBodies, payer: caller.accountId })
        return checked.ok ? handle(context, caller, checked.value) : checked.failure
      }
    },
  }
}

/** A handler that gets the checked input of its request. */
type InputHandler<Input> = (
  parts: ApiParts,
) => (context: RouteContext, caller: Caller, input: Input) => Promise<HttpFailure | undefined>
