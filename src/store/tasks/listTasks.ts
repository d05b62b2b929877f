import type { Pool } from 'pg'
import { defined } from '../../domain/defined.ts'
import type { TaskFailureCode } from '../../domain/failure.ts'
import type { Action, ModelId } from '../../domain/models/models.ts'
import type { PublicStatus, TaskView } from '../../domain/tasks/task.ts'
import type { TaskViewRow } from './readTask.ts'
import { keyDigestsOf, keyedSql } from './keyedTasks.ts'
import { isKept, taskViewColumns } from './readTask.ts'

// Lists read the ids of their rows from indexes that hold every column of a filter, and then only these rows. A filter
// that matches nothing reads the whole index of the account, or of all: about 0.2 s for a million tasks.

/** A field that is absent matches every task. Instants are ISO 8601 texts, with up to six digits after the second. */
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
  /** A whole number. */
  readonly limit: number
}

/** One page of tasks. `hasMore` means that more tasks follow. */
export type TaskPage = { readonly rows: readonly TaskView[]; readonly hasMore: boolean }

/** Returns a page of the tasks of one account that match the filter, as `listTasks` does. */
export async function listOwnTasks(
  pool: Pool,
  accountId: string,
  filter: OwnTaskFilter,
): Promise<TaskPage | 'unknown_after'> {
  const { limit } = filter
  const listed = await listTasks(pool, { ...filter, accountId, limit: limit + 1 })
  if (listed === 'unknown_after') return listed
  const rows = listed.slice(0, limit).map(({ task }) => task)
  return { rows, hasMore: listed.length > limit }
}

/** A field that is absent matches every task. */
export type TaskFilter = OwnTaskFilter & {
  readonly accountId?: string
  /** The account's name. */
  readonly account?: string
  readonly failureCode?: TaskFailureCode
  /** As the client sent it. */
  readonly idempotencyKey?: string
  /** Whether to leave out tasks that were retried. */
  readonly notRetried?: boolean
}

export type ListedTask = {
  readonly task: TaskView
  readonly accountName: string
  readonly keyId: string
}

/**
 * Returns the tasks of one or all accounts that match the filter, newest first, beginning after the task `after`. Returns
 * `unknown_after` when there never was such a task of the account.
 *
 * Where the index that fits begins with the account, merges the newest tasks of each account. PostgreSQL plans each
 * statement without its values, so constants are part of the text where they decide which index fits.
 */
export async function listTasks(
  pool: Pool,
  filter: TaskFilter,
): Promise<readonly ListedTask[] | 'unknown_after'> {
  const { account, accountId, after, status, idempotencyKey } = filter
  const position = after === undefined ? undefined : await positionOf(pool, after, accountId)
  if (position === undefined && after !== undefined) return 'unknown_after'
  const { values, place } = parameters()
  const conditions = conditionsOf(filter, place)
  if (position !== undefined) {
    conditions.push(`(created_at, task_id) < (${place(position)}::timestamptz, ${place(after)})`)
  }
  const isLive = status === 'queued' || status === 'processing'
  const ofAccount = account !== undefined || accountId !== undefined
  const newest = `order by created_at desc, task_id desc limit ${Math.trunc(filter.limit)}`
  const found = (more: readonly string[]) =>
    `select task_id, created_at from task where ${[...conditions, ...more].join(' and ')} ${newest}`
  const page =
    ofAccount || isLive || idempotencyKey !== undefined
      ? found([])
      : `select each.* from account cross join lateral (
           ${found(['account_id = account.account_id'])}) each ${newest}`
  const { rows } = await pool.query<TaskViewRow & Omit<ListedTask, 'task'>>({
    text: `select ${taskViewColumns}, account.name as "accountName", key_id as "keyId"
      from (${page}) page join task using (task_id) join account using (account_id)
      order by task.created_at desc, task.task_id desc`,
    values,
  })
  return rows.map(({ accountName, keyId, ...row }) => ({
    task: defined(row),
    accountName,
    keyId,
  }))
}

/**
 * Returns the creation time of a task, or `undefined` when there never was such a task of the account. Reads the
 * time from the hold in the ledger, which has the same time and stays when the task is purged. So a client can
 * continue its list after a task that has been purged. The instants of PostgreSQL have microseconds and those of
 * JavaScript do not, so instants are passed as texts and PostgreSQL alone compares them.
 */
async function positionOf(
  pool: Pool,
  taskId: string,
  accountId: string | undefined,
): Promise<string | undefined> {
  const { rows } = await pool.query<{ createdAt: string }>({
    name: 'position-of-task',
    text: `select created_at::text as "createdAt" from ledger
      where task_id = $1 and kind = 'hold' and ($2::text is null or account_id = $2)`,
    values: [taskId, accountId ?? null],
  })
  return rows[0]?.createdAt
}

/** Adds a value to the parameters of a statement and returns its place: `$1`. */
type Place = (value: unknown) => string

function parameters(): { readonly values: unknown[]; readonly place: Place } {
  const values: unknown[] = []
  return { values, place: (value) => `$${values.push(value)}` }
}

function conditionsOf(filter: TaskFilter, place: Place): string[] {
  const { account, accountId, status, model, action, failureCode, idempotencyKey } = filter
  const { createdAfter, createdBefore, notRetried } = filter
  const conditions = [isKept]
  if (accountId !== undefined) conditions.push(`account_id = ${place(accountId)}`)
  if (account !== undefined) {
    conditions.push(`account_id = (select account_id from account where name = ${place(account)})`)
  }
  if (status !== undefined) conditions.push(statusSql[status])
  if (model !== undefined) conditions.push(`model = ${place(model)}`)
  if (action !== undefined) conditions.push(`action = ${place(action)}`)
  if (failureCode !== undefined) {
    conditions.push(`${statusSql.failed} and failure_code = ${place(failureCode)}`)
  }
  if (idempotencyKey !== undefined) {
    conditions.push(`task_id = any (array(${keyedSql(place(keyDigestsOf(idempotencyKey)))}))`)
  }
  if (createdAfter !== undefined) {
    conditions.push(`created_at >= ${place(createdAfter)}::timestamptz`)
  }
  if (createdBefore !== undefined) {
    conditions.push(`created_at < ${place(createdBefore)}::timestamptz`)
  }
  if (notRetried === true) {
    conditions.push('not exists (select from task retry where retry.retry_of = task.task_id)')
  }
  return conditions
}

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
