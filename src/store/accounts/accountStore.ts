import type { Pool } from 'pg'
import type { UsageQuery } from '../../domain/accounts/usage.ts'
import type { OwnTaskFilter } from '../tasks/listTasks.ts'
import { listOwnTasks } from '../tasks/listTasks.ts'
import type { NewAccount } from './accounts.ts'
import { createAccount, findAccount, readAccount } from './accounts.ts'
import type { NewApiKey } from './apiKeys.ts'
import { createKey } from './apiKeys.ts'
import { readUsage } from './readUsage.ts'

/** For making accounts and API keys. */
export function createAccountStore(pool: Pool) {
  return {
    createAccount: (account: NewAccount) => createAccount(pool, account),
    findAccount: (name: string) => findAccount(pool, name),
    createKey: (key: NewApiKey) => createKey(pool, key),
  }
}

export type AccountStore = Readonly<ReturnType<typeof createAccountStore>>

/** For the routes by which clients read about their own account. */
export function createAccountReads(pool: Pool) {
  return {
    readAccount: (accountId: string) => readAccount(pool, accountId),
    listOwnTasks: (accountId: string, filter: OwnTaskFilter) =>
      listOwnTasks(pool, accountId, filter),
    readUsage: (accountId: string, query: UsageQuery) => readUsage(pool, accountId, query),
  }
}

export type AccountReads = Readonly<ReturnType<typeof createAccountReads>>
