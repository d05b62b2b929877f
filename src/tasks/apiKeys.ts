import { createHmac } from 'node:crypto'
import type { Caller } from '../domain/accounts/account.ts'
import type { SecretDigest } from '../domain/accounts/apiKey.ts'
import { isWellFormedSecret, newApiKeySecret, secretPrefix } from '../domain/accounts/apiKey.ts'
import type { RandomBytes } from '../domain/ids.ts'
import type { NewApiKey } from '../store/accounts/apiKeys.ts'
import type { TaskStore } from '../store/tasks/taskStore.ts'

/**
 * One secret of `KEY_PEPPER`. New keys are hashed with the first pepper of the list. Existing keys are
 * verified with every pepper of the list.
 */
export type Pepper = { readonly id: string; readonly secret: string }

type AuthenticateDeps = {
  readonly store: Pick<TaskStore, 'findCaller'>
  readonly peppers: readonly Pepper[]
}

/**
 * Creates the function that returns the caller of a bearer secret, or `undefined`. A secret that was not made with one
 * of the peppers is refused without a query, so that invented ones put no load on the database. Every other one is
 * looked up for each request, so a key is refused from the moment of its revocation.
 */
export function createAuthenticate({ store, peppers }: AuthenticateDeps) {
  return async (secret: string): Promise<Caller | undefined> => {
    const makers = peppers.filter((pepper) => isWellFormedSecret(secret, digestWith(pepper)))
    if (makers.length === 0) return undefined
    return store.findCaller(makers.map((pepper) => digestWith(pepper)(secret)))
  }
}

/** A new secret, which is stored nowhere, and what is stored of it. */
export type NewSecret = Pick<NewApiKey, 'prefix' | 'pepperId' | 'secretHash'> & {
  readonly secret: string
}

/** Makes the secret of a new API key. `pepper` is the first one of `KEY_PEPPER`. */
export function newSecret(pepper: Pepper, randomBytes: RandomBytes): NewSecret {
  const secret = newApiKeySecret(randomBytes, digestWith(pepper))
  return {
    secret,
    prefix: secretPrefix(secret),
    pepperId: pepper.id,
    secretHash: digestWith(pepper)(secret),
  }
}

/**
 * Returns the function that computes keyed hashes with this pepper. The hash of a whole secret is what the database
 * stores. The hash of a secret without its checksum gives the checksum. Secrets are random, so a fast hash is enough.
 * Without the pepper a stolen database is useless.
 */
export function digestWith(pepper: Pepper): SecretDigest {
  return (text) => createHmac('sha256', pepper.secret).update(text).digest()
}
