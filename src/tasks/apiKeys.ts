import { createHmac } from 'node:crypto'
import type { ApiKey, Caller } from '../domain/account.ts'
import { isWellFormedSecret, newApiKeySecret, newKeyId, secretPrefix } from '../domain/apiKey.ts'
import { defined } from '../domain/defined.ts'
import type { RandomBytes } from '../domain/ids.ts'
import type { AccountStore } from '../domain/ports/accountStore.ts'
import type { TaskStore } from '../domain/ports/taskStore.ts'

/** A pepper: the first of a list hashes new keys, all of them verify (design section 3, KEY_PEPPER). */
export type Pepper = { readonly id: string; readonly secret: string }

/** Keys are random, so a fast keyed hash is enough: a stolen database without the pepper is useless. */
export function secretHash(pepper: Pepper, secret: string): Uint8Array {
  return createHmac('sha256', pepper.secret).update(secret).digest()
}

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

export type IssueKeyDeps = {
  readonly accounts: Pick<AccountStore, 'findAccount' | 'createKey'>
  /** The newest: hashes new keys. */
  readonly pepper: Pepper
  readonly randomBytes: RandomBytes
}

/** The secret is in this answer and nowhere else, ever. `undefined` without such an account. */
export type IssueKey = (
  accountName: string,
  expiresInMs?: number,
) => Promise<{ readonly key: ApiKey; readonly secret: string } | undefined>

/** Makes keys of accounts, each with a secret of its own. */
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
