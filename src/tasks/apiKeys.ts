import { createHmac } from 'node:crypto'
import type { ApiKey, Caller } from '../domain/accounts/account.ts'
import type { SecretDigest } from '../domain/accounts/apiKey.ts'
import {
  isWellFormedSecret,
  newApiKeySecret,
  newKeyId,
  secretPrefix,
} from '../domain/accounts/apiKey.ts'
import type { RandomBytes } from '../domain/ids.ts'
import type { AccountStore, NewApiKey } from '../domain/ports/accountStore.ts'
import type { TaskStore } from '../domain/ports/taskStore.ts'

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
 * Returns the caller of a bearer secret, or `undefined`. A secret that none of the peppers made is refused
 * without a query, so invented keys put no load on the database. Nothing is cached, so a revoked key is
 * refused from the moment of its revocation, and a new key works at once.
 */
export function createAuthenticate(deps: AuthenticateDeps) {
  return async (secret: string): Promise<Caller | undefined> => {
    const makers = deps.peppers.filter((pepper) => isWellFormedSecret(secret, digestWith(pepper)))
    if (makers.length === 0) return undefined
    return deps.store.findCaller(makers.map((pepper) => digestWith(pepper)(secret)))
  }
}

type IssueKeyDeps = {
  readonly accounts: Pick<AccountStore, 'findAccount' | 'createKey'>
  /** The first pepper of `KEY_PEPPER`, which hashes new keys. */
  readonly pepper: Pepper
  readonly randomBytes: RandomBytes
}

/**
 * Makes a new API key for an account. The returned secret is stored nowhere. Returns `undefined` when there
 * is no such account.
 */
export type IssueKey = (
  accountName: string,
  terms?: Pick<NewApiKey, 'expiresInMs' | 'budget'>,
) => Promise<{ readonly key: ApiKey; readonly secret: string } | undefined>

/** Creates the function that makes new API keys. */
export function createIssueKey(deps: IssueKeyDeps): IssueKey {
  return async (accountName, terms) => {
    const account = await deps.accounts.findAccount(accountName)
    if (account === undefined) return undefined
    const secret = newApiKeySecret(deps.randomBytes, digestWith(deps.pepper))
    const key = await deps.accounts.createKey({
      keyId: newKeyId(deps.randomBytes),
      accountId: account.accountId,
      prefix: secretPrefix(secret),
      pepperId: deps.pepper.id,
      secretHash: digestWith(deps.pepper)(secret),
      ...terms,
    })
    return { key, secret }
  }
}

/**
 * The keyed hash of a secret, under which it is stored, and of its random part for the checksum. Secrets are
 * random, so a fast hash is enough. A stolen database is useless without the pepper.
 */
export function digestWith(pepper: Pepper): SecretDigest {
  return (text) => createHmac('sha256', pepper.secret).update(text).digest()
}
