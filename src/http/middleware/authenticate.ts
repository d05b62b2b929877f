import type { IncomingMessage } from 'node:http'
import type { Caller } from '../../domain/account.ts'
import type { RequestFailure } from '../../domain/failure.ts'
import type { Result } from '../../domain/result.ts'
import { fail, succeed } from '../../domain/result.ts'
import type { ApiDeps } from '../context.ts'

/** RFC 6750 section 2.1; the scheme's name is case-insensitive (RFC 9110 section 11.1). */
const bearer = /^bearer +([0-9A-Za-z._~+/-]+=*)$/i

/**
 * Spec, Authentication. Node keeps the first of two Authorization headers where a proxy before it may
 * have checked the second, so two are refused.
 */
export async function authenticate(
  deps: ApiDeps,
  request: IncomingMessage,
): Promise<Result<Caller, RequestFailure>> {
  const given = request.headersDistinct['authorization'] ?? []
  const [header] = given
  if (header === undefined) return fail({ tag: 'unauthenticated', tokenSent: false })
  const secret = bearer.exec(header)?.[1]
  const caller =
    secret === undefined || given.length > 1 ? undefined : await deps.tasks.authenticate(secret)
  return caller === undefined ? fail({ tag: 'unauthenticated', tokenSent: true }) : succeed(caller)
}
