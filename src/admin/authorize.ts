import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { RequestFailure } from '../domain/failure.ts'
import type { Result } from '../domain/result.ts'
import { fail, succeed } from '../domain/result.ts'
import { bearerSecret, invalidKey } from '../http/authenticate.ts'

/** Who asks: the key of a viewer, who only reads, or of an operator. */
export type AdminCaller = { readonly keyId: string; readonly role: 'viewer' | 'operator' }

export type AdminKey = {
  readonly id: string
  readonly secret: string
  readonly role: AdminCaller['role']
}

export type Authorize = ReturnType<typeof createAuthorize>

/**
 * Creates the check of the Authorization header. The digests of secrets have one length, and are compared in constant
 * time with those of every key, so that the time of an answer says nothing about a secret.
 */
export function createAuthorize(keys: readonly AdminKey[]) {
  const known = keys.map(({ id, secret, role }) => ({ digest: digestOf(secret), id, role }))
  return (
    request: IncomingMessage,
    access: AdminCaller['role'],
  ): Result<AdminCaller, RequestFailure> => {
    const sent = bearerSecret(request)
    if (!sent.ok) return sent
    const digest = digestOf(sent.value)
    const [key] = known.filter((each) => timingSafeEqual(each.digest, digest))
    if (key === undefined) return fail(invalidKey)
    const { id: keyId, role } = key
    if (access === 'operator' && role === 'viewer') {
      return fail({ tag: 'access_denied', message: 'This key may read only. Use an operator’s.' })
    }
    return succeed({ keyId, role })
  }
}

function digestOf(secret: string): Buffer {
  return createHash('sha256').update(secret).digest()
}
