import type { Pool } from 'pg'
import { defined } from '../../domain/defined.ts'
import type { TaskFailureCode } from '../../domain/failure.ts'
import type { ListPage } from '../../domain/lists/list.ts'
import { mapPage } from '../../domain/lists/list.ts'
import type { Since } from '../../domain/lists/since.ts'
import type { Action, ModelId } from '../../domain/models/models.ts'
import type { PublicStatus, TaskView } from '../../domain/tasks/task.ts'
import type { Conditions, Page } from '../readPage.ts'
import { readPage, sinceCondition } from '../readPage.ts'
import { keyDigestsOf } from './keyDigests.ts'
import type { TaskViewRow } from '../taskRow.ts'
import { isKept, taskViewColumns } from '../taskRow.ts'

// Lists read the ids of their rows from indexes that hold every column of a filter, and then only these rows. A filter
// that matches nothing reads the whole index of the account, or of all: about 0.2 s for a million tasks.

/**
 * A field that is absent matches every task. Instants are ISO 8601 texts, with up to six digits after the second. `after`
 * is the id of a task, which may be purged.
 */
export type TaskFilter = Page & {
  readonly taskIds?: readonly string[]
  readonly accountId?: string
  /** The account's name. */
  readonly account?: string
  readonly status?: PublicStatus
  readonly model?: ModelId
  readonly action?: Action
  /** The first instant of the period. */
  readonly createdAfter?: Since
  /** The end of the period. Tasks of this instant do not match. */
  readonly createdBefore?: string
  readonly failureCode?: TaskFailureCode
  /** As the client sent it. */
  readonly idempotencyKey?: string
  /** Whether to leave out tasks that were retried, and those whose request is no longer stored. */
  readonly isRetryable?: true
}

export type ListedTask = {
  readonly task: TaskView
  readonly accountName: string
  readonly keyId: string
}

/**
 * Returns the tasks of one or all accounts that match the filter, newest first. The ledger says where a page begins: its
 * row of a hold has the time of the task, and stays when the task is purged.
 *
 * Where the index that fits begins with the account, merges the newest tasks of each account. PostgreSQL plans each
 * statement without its values, so constants are part of the text where they decide which index fits.
 */
export async function listTasks(pool: Pool, filter: TaskFilter): Promise<ListPage<ListedTask>> {
  const { taskIds, account, accountId, status, model, action, failureCode, idempotencyKey } = filter
  const isLive = status === 'queued' || status === 'processing'
  const isNarrow = isLive || (taskIds ?? account ?? accountId ?? idempotencyKey) !== undefined
  const ofAccount: Conditions = [['account_id = ?', accountId]]
  const conditions: Conditions = [
    [isKept],
    ['task_id = any (?)', taskIds],
    ...ofAccount,
    ['account_id = (select account_id from account where name = ?)', account],
    ...(status === undefined ? [] : ([[statusSql[status]]] as const)),
    ['model = ?', model],
    ['action = ?', action],
    [`${statusSql.failed} and failure_code = ?`, failureCode],
    [
      'key_digest = any (?)',
      idempotencyKey === undefined ? undefined : keyDigestsOf(idempotencyKey),
    ],
    sinceCondition('created_at', filter.createdAfter),
    ['created_at < ?::timestamptz', filter.createdBefore],
    ...(filter.isRetryable === true ? ([[retryableSql]] as const) : []),
  ]
  const list = await readPage<TaskViewRow & Omit<ListedTask, 'task'>>(pool, filter, {
    table: 'ledger',
    order: ['created_at', 'task_id'],
    direction: 'desc',
    scope: [[`kind = 'hold'`], ...ofAccount],
    filter: conditions,
    select: (where, newest) => {
      const found = (more: string) =>
        `select task_id, created_at from task ${where} ${more} ${newest}`
      const page = isNarrow
        ? found('')
        : `select each.* from account cross join lateral (
             ${found('and account_id = account.account_id')}) each ${newest}`
      return `select ${taskViewColumns}, account.name as "accountName", key_id as "keyId"
        from (${page}) page join task using (task_id) join account using (account_id)
        order by task.created_at desc, task.task_id desc`
    },
  })
  return mapPage(list, ({ accountName, keyId, ...row }) => ({
    task: defined(row),
    accountName,
    keyId,
  }))
}

const retryableSql =
  'request is not null and not exists (select from task retry where retry.retry_of = task.task_id)'

/**
 * A succeeded task whose image has expired counts as `expired`, as clients see it. The statuses are constants, so that
 * PostgreSQL can use the index of failed tasks.
 */
const statusSql: Readonly<Record<PublicStatus, string>> = {
  queued: `status = 'queued'`,
  processing: `status = 'processing'`,
  succeeded: `status = 'succeeded' and expires_at > now()`,
  expired: `status = 'succeeded' and expires_at <= now()`,
  failed: `status = 'failed'`,
}
