import type { Account, ApiKey } from '../account.ts'
import type { ModelId } from '../models.ts'

export type NewAccount = {
  readonly accountId: string
  /** Unique in the installation. */
  readonly name: string
  /** Models that the account may use. Absent: every model. */
  readonly models?: readonly ModelId[]
  /** The first deposit; 0 makes none. */
  readonly credits: number
}

export type NewApiKey = {
  readonly keyId: string
  readonly accountId: string
  /** The first characters of the secret, so that people can tell keys apart. */
  readonly prefix: string
  /** The pepper under which the secret was hashed. */
  readonly pepperId: string
  readonly secretHash: Uint8Array
  /** From PostgreSQL's now. Absent: the key does not expire. */
  readonly expiresInMs?: number
}

/** Accounts, API keys and deposits, for the operator. Implemented in `src/store/accounts/`. */
export type AccountStore = {
  /** One transaction. False: the name is taken, nothing was written. */
  readonly createAccount: (account: NewAccount) => Promise<boolean>
  /**
   * Deposits credits in one transaction and returns the account with its new balances. `undefined`:
   * there is no such account. `beyond_limit`: the account would hold more credits than
   * `accountCreditsMax`; nothing was written.
   */
  readonly topUp: (name: string, credits: number) => Promise<Account | 'beyond_limit' | undefined>
  /** `undefined`: there is no such account. */
  readonly findAccount: (name: string) => Promise<Account | undefined>
  /** Every account, in the order of their names. */
  readonly listAccounts: () => Promise<readonly Account[]>
  /** Rejects when there is no such account. */
  readonly createKey: (key: NewApiKey) => Promise<ApiKey>
  /** Oldest first, with revoked and expired keys. */
  readonly listKeys: (accountId: string) => Promise<readonly ApiKey[]>
  /**
   * Revokes a key: it is refused as soon as the promise resolves. A key that is revoked already keeps
   * its time. `undefined`: there is no such key.
   */
  readonly revokeKey: (keyId: string) => Promise<ApiKey | undefined>
}
