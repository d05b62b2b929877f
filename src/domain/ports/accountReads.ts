import type { Account } from '../accounts/account.ts'
import type { Usage, UsageQuery } from '../accounts/usage.ts'
import type { Action, ModelId } from '../models/models.ts'
import type { PublicStatus, TaskView } from '../tasks/task.ts'

/** What clients read about their own account. Implemented in `src/store/`. */
export type AccountReads = {
  /** Returns an account with its balances. Rejects when there is no such account. */
  readonly readAccount: (accountId: string) => Promise<Account>
  /**
   * Returns the account's tasks that match the filter, newest first. Returns `unknown_after` when `after` never
   * was a task of the account.
   */
  readonly listOwnTasks: (
    accountId: string,
    filter: OwnTaskFilter,
  ) => Promise<Page<TaskView> | 'unknown_after'>
  /** Counts the ends of the account's tasks. Returns `too_many_rows` when the answer would be too long. */
  readonly readUsage: (accountId: string, query: UsageQuery) => Promise<Usage | 'too_many_rows'>
}

/** The rows of one page. `hasMore` means that more rows follow. */
export type Page<Row> = { readonly rows: readonly Row[]; readonly hasMore: boolean }

/** A field that is absent matches every task. Instants are ISO 8601 texts with microseconds. */
export type OwnTaskFilter = {
  readonly status?: PublicStatus
  readonly model?: ModelId
  readonly action?: Action
  /** The first instant of the period. */
  readonly createdAfter?: string
  /** The end of the period. Tasks of this instant do not match. */
  readonly createdBefore?: string
  /** The id of a task, which may be purged. Only tasks that are older than this task are returned. */
  readonly after?: string
  readonly limit: number
}
