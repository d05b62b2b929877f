import type { Pool } from 'pg'
import type { UsageQuery } from '../domain/accounts/usageQuery.ts'
import type { TaskFilter } from './tasks/taskLists.ts'
import { listTasks } from './tasks/taskLists.ts'
import { readAccount } from './accounts/accountRows.ts'
import { readUsage } from './accounts/readUsage.ts'

/** For the routes by which clients read about their own account. */
export function createAccountReads(pool: Pool) {
  return {
    readAccount: (accountId: string) => readAccount(pool, accountId),
    listOwnTasks: (accountId: string, filter: TaskFilter) =>
      listTasks(pool, { ...filter, accountId }),
    readUsage: (accountId: string, query: UsageQuery) => readUsage(pool, accountId, query),
  }
}

export type AccountReads = Readonly<ReturnType<typeof createAccountReads>>
