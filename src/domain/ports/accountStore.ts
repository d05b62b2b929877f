import type { Account, ApiKey } from '../accounts/account.ts'
import type { Budget } from '../accounts/budget.ts'
import type { ModelId } from '../models/models.ts'

export type NewAccount = {
  readonly accountId: string
  /** The account's name, unique in the installation. */
  readonly name: string
  /** Models that the account may use. Absent: every model. */
  readonly models?: readonly ModelId[]
  /** The first deposit. With 0 no deposit is made. */
  readonly credits: number
}

export type NewApiKey = {
  readonly keyId: string
  readonly accountId: string
  /** The first characters of the secret, so that people can tell keys apart. */
  readonly prefix: string
  /** The id of the pepper with which the secret was hashed. */
  readonly pepperId: string
  readonly secretHash: Uint8Array
  /** Time until the key expires, from PostgreSQL's now. Absent: the key does not expire. */
  readonly expiresInMs?: number
  readonly budget?: Budget
}

/** Accounts, API keys and deposits, for the operator. Implemented in `src/store/accounts/`. */
export type AccountStore = {
  /** Creates an account in one transaction. Returns false when the name is taken, and then writes nothing. */
  readonly createAccount: (account: NewAccount) => Promise<boolean>
  /**
   * Deposits credits in one transaction and returns the account with its new balances. Returns `undefined`
   * when there is no such account. Returns `beyond_limit` and writes nothing when the account would have more
   * credits than `accountCreditsMax`.
   */
  readonly topUp: (name: string, credits: number) => Promise<Account | 'beyond_limit' | undefined>
  /** Returns an account, or `undefined` when there is no such account. */
  readonly findAccount: (name: string) => Promise<Account | undefined>
  /** Returns every account, sorted by name. */
  readonly listAccounts: () => Promise<readonly Account[]>
  /** Creates a key. Rejects when there is no such account. */
  readonly createKey: (key: NewApiKey) => Promise<ApiKey>
  /** Returns the keys of an account, oldest first, including revoked and expired keys. */
  readonly listKeys: (accountId: string) => Promise<readonly ApiKey[]>
  /**
   * Revokes a key. The key is refused as soon as the promise resolves. A key that was revoked before keeps
   * its time of revocation. Returns `undefined` when there is no such key.
   */
  readonly revokeKey: (keyId: string) => Promise<ApiKey | undefined>
}
