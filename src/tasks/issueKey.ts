import type { ApiKey } from '../domain/account.ts'
import type { AccountStore } from '../domain/accountStore.ts'
import { newApiKeySecret, newKeyId, secretPrefix } from '../domain/apiKey.ts'
import type { RandomBytes } from '../domain/ids.ts'
import type { Pepper } from './secretHash.ts'
import { secretHash } from './secretHash.ts'

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
      ...(expiresInMs === undefined ? {} : { expiresInMs }),
    })
    return { key, secret }
  }
}
