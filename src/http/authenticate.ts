import type { IncomingMessage } from 'node:http'
import type { ApiDeps } from './context.ts'
import type { Caller } from '../domain/accounts/account.ts'
import type { RequestFailure } from '../domain/failure.ts'
import type { Result } from '../domain/result.ts'
import { fail, succeed } from '../domain/result.ts'

/**
 * The Authorization header of RFC 6750 section 2.1. The name of the scheme may be in any letter case (RFC
 * 9110 section 11.1).
 */
const bearer = /^bearer +([0-9A-Za-z._~+/-]+=*)$/i

/**
 * Returns the caller that the Authorization header names. A request with two Authorization headers gets a
 * 401, because a proxy in front of Darkroom may have checked only one of them, and Node keeps the other.
 */
export async function authenticate(
  deps: Pick<ApiDeps, 'tasks'>,
  request: IncomingMessage,
): Promise<Result<Caller, RequestFailure>> {
  const [header, ...others] = request.headersDistinct['authorization'] ?? []
  if (header === undefined) return fail({ tag: 'unauthenticated', tokenSent: false })
  const secret = others.length === 0 ? bearer.exec(header)?.[1] : undefined
  const caller = secret === undefined ? undefined : await deps.tasks.authenticate(secret)
  return caller === undefined ? fail({ tag: 'unauthenticated', tokenSent: true }) : succeed(caller)
}
