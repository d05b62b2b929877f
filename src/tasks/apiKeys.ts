import { createHmac } from 'node:crypto'
import type { ApiKey, Caller } from '../domain/account.ts'
import { isWellFormedSecret, newApiKeySecret, newKeyId, secretPrefix } from '../domain/apiKey.ts'
import { defined } from '../domain/defined.ts'
import type { RandomBytes } from '../domain/ids.ts'
import type { AccountStore } from '../domain/ports/accountStore.ts'
import type { TaskStore } from '../domain/ports/taskStore.ts'

/** One secret of `KEY_PEPPER`. The first of the list hashes new keys; each of them verifies keys. */
export type Pepper = { readonly id: string; readonly secret: string }

type AuthenticateDeps = {
  readonly store: Pick<TaskStore, 'findCaller'>
  readonly peppers: readonly Pepper[]
}

/**
 * Returns the caller of a bearer secret, or `undefined`. A malformed secret is refused without a query.
 * Nothing is cached, so a revoked key is refused from the moment of its revocation.
 */
export function createAuthenticate(deps: AuthenticateDeps) {
  return async (secret: string): Promise<Caller | undefined> => {
    if (!isWellFormedSecret(secret)) return undefined
    return deps.store.findCaller(deps.peppers.map((pepper) => secretHash(pepper, secret)))
  }
}

type IssueKeyDeps = {
  readonly accounts: Pick<AccountStore, 'findAccount' | 'createKey'>
  /** The first of the list. */
  readonly pepper: Pepper
  readonly randomBytes: RandomBytes
}

/** `undefined` when there is no such account. The secret is returned here and stored nowhere. */
export type IssueKey = (
  accountName: string,
  expiresInMs?: number,
) => Promise<{ readonly key: ApiKey; readonly secret: string } | undefined>

/** Makes new API keys of accounts. */
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
 * The hash under which a key is stored. Secrets are random, so a fast keyed hash is enough. A stolen
 * database is useless without the pepper.
 */
function secretHash(pepper: Pepper, secret: string): Uint8Array {
  return createHmac('sha256', pepper.secret).update(secret).digest()
}
