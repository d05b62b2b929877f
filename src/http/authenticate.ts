import type { IncomingMessage } from 'node:http'
import type { Caller } from '../domain/account.ts'
import type { RequestFailure } from '../domain/failure.ts'
import type { Result } from '../domain/result.ts'
import { fail, succeed } from '../domain/result.ts'
import type { ApiDeps } from './context.ts'

/** RFC 6750 section 2.1; the name of the scheme is case-insensitive (RFC 9110 section 11.1). */
const bearer = /^bearer +([0-9A-Za-z._~+/-]+=*)$/i

/**
 * The caller that the Authorization header names. Two Authorization headers are refused: Node keeps the
 * first one, while a proxy in front of Darkroom may have checked the second.
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
