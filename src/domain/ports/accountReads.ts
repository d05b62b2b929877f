import type { Account } from '../accounts/account.ts'

/** What clients read about their own account. Implemented in `src/store/`. */
export type AccountReads = {
  /** Returns an account with its balances. Rejects when there is no such account. */
  readonly readAccount: (accountId: string) => Promise<Account>
}
