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

/** A new key of the named account. The secret is in this answer and nowhere else, ever. */
export function createIssueKey(deps: IssueKeyDeps) {
  return async (
    accountName: string,
    expiresInMs?: number,
  ): Promise<{ readonly key: ApiKey; readonly secret: string } | undefined> => {
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
