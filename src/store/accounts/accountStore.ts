import type { Pool } from 'pg'
import type { AccountStore } from '../../domain/ports/accountStore.ts'
import { createAccount, findAccount, listAccounts, topUpAccount } from './accounts.ts'
import { createKey, listKeys, revokeKey } from './apiKeys.ts'

/** Accounts, keys and deposits, over one pool. */
export function createAccountStore(pool: Pool): AccountStore {
  return {
    createAccount: (account) => createAccount(pool, account),
    topUp: (name, credits) => topUpAccount(pool, name, credits),
    findAccount: (name) => findAccount(pool, name),
    listAccounts: () => listAccounts(pool),
    createKey: (key) => createKey(pool, key),
    listKeys: (accountId) => listKeys(pool, accountId),
    revokeKey: (keyId) => revokeKey(pool, keyId),
  }
}
