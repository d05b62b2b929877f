import { isWellFormedSecret } from '../domain/apiKey.ts'
import type { Caller } from '../domain/caller.ts'
import type { TaskStore } from '../domain/taskStore.ts'
import type { Pepper } from './secretHash.ts'
import { secretHash } from './secretHash.ts'

export type AuthenticateDeps = {
  readonly store: Pick<TaskStore, 'findCaller'>
  readonly peppers: readonly Pepper[]
}

/**
 * The caller of a bearer secret. A malformed one costs no SQL; nothing is cached, so a revoked key is
 * refused from the moment of its revocation.
 */
export function createAuthenticate(deps: AuthenticateDeps) {
  return async (secret: string): Promise<Caller | undefined> => {
    if (!isWellFormedSecret(secret)) return undefined
    return deps.store.findCaller(deps.peppers.map((pepper) => secretHash(pepper, secret)))
  }
}
