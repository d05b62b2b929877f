import { createHmac } from 'node:crypto'
import type { ApiKey, Caller } from '../domain/accounts/account.ts'
import {
  isWellFormedSecret,
  newApiKeySecret,
  newKeyId,
  secretPrefix,
} from '../domain/accounts/apiKey.ts'
import { defined } from '../domain/defined.ts'
import type { RandomBytes } from '../domain/ids.ts'
import type { AccountStore } from '../domain/ports/accountStore.ts'
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
 * Returns the caller whose bearer secret this is, or `undefined`. A malformed secret is refused without a
 * query. Nothing is cached, so a revoked key is refused as soon as it is revoked.
 */
export function createAuthenticate(deps: AuthenticateDeps) {
  return async (secret: string): Promise<Caller | undefined> => {
    if (!isWellFormedSecret(secret)) return undefined
    return deps.store.findCaller(deps.peppers.map((pepper) => secretHash(pepper, secret)))
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
  expiresInMs?: number,
) => Promise<{ readonly key: ApiKey; readonly secret: string } | undefined>

/** Creates the function that makes new API keys. */
export function createIssueKey(deps: IssueKeyDeps): IssueKey {
  return async (accountName, expiresInMs) => {
    const account = await deps.accounts.findAccount(accountName)
    if (account === undefined) return undefined
    const secret = newApiKeySecret(deps.randomBytes)
    const key = await deps.accounts.createKey({
      keyId: newKeyId(deps.randomBytes),
      accountId: account.accountId,
      prefix: secretPrefix(secret),
      pepperId: deps.pepper.id,
      secretHash: secretHash(deps.pepper, secret),
      ...defined({ expiresInMs }),
    })
    return { key, secret }
  }
}

/**
 * Returns the hash under which a key is stored. Secrets are random, so a fast keyed hash is enough. Without
 * the pepper, nobody can check a guessed secret against a stolen database.
 */
function secretHash(pepper: Pepper, secret: string): Uint8Array {
  return createHmac('sha256', pepper.secret).update(secret).digest()
}
