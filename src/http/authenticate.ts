import type { IncomingMessage } from 'node:http'
import type { ApiDeps, ApiParts } from './apiParts.ts'
import type { Caller } from '../domain/accounts/account.ts'
import type { RequestFailure } from '../domain/failure.ts'
import type { Result } from '../domain/result.ts'
import { fail, succeed } from '../domain/result.ts'
import type { HttpFailure } from './errors.ts'
import type { Route, RouteContext } from './route.ts'

export type AccountRoute = Omit<Route, 'access' | 'handler'> & {
  readonly handler: (parts: ApiParts) => AccountHandler
}

/** A `Handler` that also gets whose key the request has. */
export type AccountHandler = (
  context: RouteContext,
  caller: Caller,
) => Promise<HttpFailure | undefined>

/**
 * Makes a route that needs an API key. The key is checked before the handler is called, and so before any of the body
 * is read.
 */
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

/**
 * The Authorization header of RFC 6750 section 2.1. The name of the scheme may be in any letter case (RFC
 * 9110 section 11.1).
 */
const bearer = /^bearer +([0-9A-Za-z._~+/-]+=*)$/i

/** Returns the caller that the Authorization header names. */
export async function authenticate(
  deps: Pick<ApiDeps, 'tasks'>,
  request: IncomingMessage,
): Promise<Result<Caller, RequestFailure>> {
  const secret = bearerSecret(request)
  if (!secret.ok) return secret
  const caller = await deps.tasks.authenticate(secret.value)
  return caller === undefined ? fail(invalidKey) : succeed(caller)
}

/** The failure for a key that is sent and not valid. */
export const invalidKey = { tag: 'unauthenticated', tokenSent: true } as const

/**
 * Returns the secret in the Authorization header. A request with two Authorization headers gets a 401, because a proxy
 * in front of Darkroom may have checked only one of them, and Node keeps the other.
 */
export function bearerSecret(request: IncomingMessage): Result<string, RequestFailure> {
  const [header, ...others] = request.headersDistinct['authorization'] ?? []
  if (header === undefined) return fail({ tag: 'unauthenticated', tokenSent: false })
  const secret = others.length === 0 ? bearer.exec(header)?.[1] : undefined
  return secret === undefined ? fail(invalidKey) : succeed(secret)
}
