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
import type { AccountStore } from '../store/accounts/accountStore.ts'
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
  terms?: Partial<Pick<NewApiKey, 'keyId' | 'expiresInMs' | 'budget'>>,
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
 * Returns the function that computes keyed hashes with this pepper. The hash of a whole secret is what the database
 * stores. The hash of a secret without its checksum gives the checksum. Secrets are random, so a fast hash is enough.
 * Without the pepper a stolen database is useless.
 */
export function digestWith(pepper: Pepper): SecretDigest {
  return (text) => createHmac('sha256', pepper.secret).update(text).digest()
}
