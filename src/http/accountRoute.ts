import { authenticate } from './authenticate.ts'
import type { AccountHandler, ApiParts } from './context.ts'
import type { Route } from './route.ts'

export type AccountRoute = Omit<Route, 'access' | 'handler'> & {
  readonly handler: (parts: ApiParts) => AccountHandler
}

/** Makes a route that needs an API key. The key is checked before the handler is called, and so before any of the body is read. */
export function accountRoute({ handler, ...declaration }: AccountRoute): Route<ApiParts> {
  return {
    ...declaration,
    access: 'account',
    handler: (parts) => {
      const handle = handler(parts)
      return async (context) => {
        const caller = await authenticate(parts, context.req)
        if (!caller.ok) return caller.failure
        context.state.accountId = caller.value.accountId
        return handle(context, caller.value)
      }
    },
  }
}
