import type { Account, ApiKey } from '../account.ts'
import type { ModelId } from '../models.ts'

/** Accounts, keys and deposits, for the operator. Implemented in `src/store/`. */
export type AccountStore = {
  /** False: the name is taken, nothing was written. */
  readonly createAccount: (account: {
    readonly accountId: string
    readonly name: string
    readonly models?: readonly ModelId[]
    readonly credits: number
  }) => Promise<boolean>
  /** A deposit and the balances after it; `undefined` without such an account. */
  readonly topUp: (name: string, credits: number) => Promise<Account | 'beyond_limit' | undefined>
  readonly findAccount: (name: string) => Promise<Account | undefined>
  /** By name. */
  readonly listAccounts: () => Promise<readonly Account[]>
  readonly createKey: (key: {
    readonly keyId: string
    readonly accountId: string
    readonly prefix: string
    readonly pepperId: string
    readonly secretHash: Uint8Array
    /** From the database's now; absent: never expires. */
    readonly expiresInMs?: number
  }) => Promise<ApiKey>
  /** Oldest first. */
  readonly listKeys: (accountId: string) => Promise<readonly ApiKey[]>
  /** Revokes from this moment on; a key revoked before keeps its time. `undefined` without such a key. */
  readonly revokeKey: (keyId: string) => Promise<ApiKey | undefined>
}
