import type { Pool } from 'pg'
import type { TaskFailureCode } from '../../domain/failure.ts'
import type { Action, ModelId } from '../../domain/models/models.ts'
import type { PublicStatus, TaskView } from '../../domain/tasks/task.ts'
import type { TaskViewRow } from './readTask.ts'
import { isKept, taskViewColumns, taskViewOf } from './readTask.ts'

// Lists go through the tasks of an account from the newest on, and test each filter on the rows. So a filter that matches
// nothing reads the account's whole history, which may take a second or two for a million tasks.

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

/** One page of tasks. `hasMore` means that more tasks follow. */
export type TaskPage = { readonly rows: readonly TaskView[]; readonly hasMore: boolean }

/**
 * Returns the tasks of one account that match the filter, newest first, beginning after the task `after`. Returns
 * `unknown_after` when `after` never was a task of the account. The instants of PostgreSQL have microseconds and those
 * of JavaScript do not, so instants are passed as texts and PostgreSQL alone compares them.
 */
export async function listOwnTasks(
  pool: Pool,
  accountId: string,
  filter: OwnTaskFilter,
): Promise<TaskPage | 'unknown_after'> {
  const { createdAfter, createdBefore, after, limit } = filter
  const position = after === undefined ? undefined : await positionOf(pool, accountId, after)
  if (position === undefined && after !== undefined) return 'unknown_after'
  const { values, place } = parameters()
  const conditions = [`account_id = ${place(accountId)}`, ...conditionsOf(filter, place)]
  if (createdAfter !== undefined) {
    conditions.push(`created_at >= ${place(createdAfter)}::timestamptz`)
  }
  if (createdBefore !== undefined) {
    conditions.push(`created_at < ${place(createdBefore)}::timestamptz`)
  }
  if (position !== undefined) {
    conditions.push(`(created_at, task_id) < (${place(position)}::timestamptz, ${place(after)})`)
  }
  const { rows } = await pool.query<TaskViewRow>({
    text: `select ${taskViewColumns} from task where ${conditions.join(' and ')}
      order by created_at desc, task_id desc limit ${place(limit + 1)}`,
    values,
  })
  return { rows: rows.slice(0, limit).map(taskViewOf), hasMore: rows.length > limit }
}

/**
 * Returns the creation time of a task of this account, or `undefined` when there never was such a task. Reads the
 * time from the hold in the ledger, which has the same time and stays when the task is purged. So a client can
 * continue its list after a task that has been purged.
 */
async function positionOf(
  pool: Pool,
  accountId: string,
  taskId: string,
): Promise<string | undefined> {
  const { rows } = await pool.query<{ createdAt: string }>({
    name: 'position-of-task',
    text: `select created_at::text as "createdAt" from ledger
      where task_id = $2 and kind = 'hold' and account_id = $1`,
    values: [accountId, taskId],
  })
  return rows[0]?.createdAt
}

/** An instant, given as milliseconds before PostgreSQL's now or as epoch milliseconds. */
export type Since = { readonly agoMs: number } | { readonly atMs: number }

/** A field that is absent matches every task. */
export type TaskFilter = {
  /** The account's name. */
  readonly account?: string
  readonly status?: PublicStatus
  readonly model?: ModelId
  readonly failureCode?: TaskFailureCode
  readonly since?: Since
  /** Whether to leave out tasks that were retried. */
  readonly notRetried?: boolean
  readonly limit: number
}

export type ListedTask = {
  readonly task: TaskView
  readonly accountName: string
  readonly keyId: string
}

/**
 * Returns the tasks of one or all accounts that match the filter, newest first. It merges the newest tasks of each
 * account, because the index of tasks begins with the account.
 */
export async function listTasks(pool: Pool, filter: TaskFilter): Promise<readonly ListedTask[]> {
  const { account, since, notRetried } = filter
  const { values, place } = parameters()
  const conditions = ['account_id = account.account_id', ...conditionsOf(filter, place)]
  if (since !== undefined) {
    conditions.push(
      'agoMs' in since
        ? `created_at >= now() - ${place(since.agoMs)}::float8 * interval '1 millisecond'`
        : `created_at >= to_timestamp(${place(since.atMs)}::float8 / 1000)`,
    )
  }
  if (notRetried === true) {
    conditions.push('not exists (select from task retry where retry.retry_of = task.task_id)')
  }
  const limit = place(filter.limit)
  const { rows } = await pool.query<TaskViewRow & Omit<ListedTask, 'task'>>({
    text: `select ${taskViewColumns}, account.name as "accountName", task.key_id as "keyId"
      from account cross join lateral (
        select * from task where ${conditions.join(' and ')}
        order by created_at desc, task_id desc limit ${limit}
      ) task
      where ${account === undefined ? 'true' : `account.name = ${place(account)}`}
      order by task.created_at desc, task.task_id desc limit ${limit}`,
    values,
  })
  return rows.map(({ accountName, keyId, ...row }) => ({
    task: taskViewOf(row),
    accountName,
    keyId,
  }))
}

/** Adds a value to the parameters of a statement and returns its place: `$1`. */
type Place = (value: unknown) => string

function parameters(): { readonly values: unknown[]; readonly place: Place } {
  const values: unknown[] = []
  return { values, place: (value) => `$${values.push(value)}` }
}

/** Returns the conditions that both lists have in common. */
function conditionsOf(
  { status, model, action, failureCode }: Pick<OwnTaskFilter & TaskFilter, CommonField>,
  place: Place,
): string[] {
  const conditions = [isKept]
  if (status !== undefined) conditions.push(statusSql[status])
  if (model !== undefined) conditions.push(`model = ${place(model)}`)
  if (action !== undefined) conditions.push(`action = ${place(action)}`)
  if (failureCode !== undefined) {
    conditions.push(`${statusSql.failed} and failure_code = ${place(failureCode)}`)
  }
  return conditions
}

type CommonField = 'status' | 'model' | 'action' | 'failureCode'

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
