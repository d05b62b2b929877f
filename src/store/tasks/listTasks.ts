import type { Pool } from 'pg'
import type { ListedTask, TaskFilter } from '../../domain/ports/taskAdmin.ts'
import { statusSql } from './listOwnTasks.ts'
import type { TaskViewRow } from './readTask.ts'
import { isKept, taskViewColumns, taskViewOf } from './readTask.ts'

type ListedRow = TaskViewRow & { readonly accountName: string }

/**
 * Returns the tasks that match the filter, newest first. A field that the filter does not have matches every
 * task. Of the expired tasks of all accounts it returns those that expired last, unless `since` limits their age.
 */
export async function listTasks(pool: Pool, filter: TaskFilter): Promise<readonly ListedTask[]> {
  const values: unknown[] = []
  const place = (value: unknown) => `$${values.push(value)}`
  const text = listSql(pageSql(filter, place))
  const { rows } = await pool.query<ListedRow>({ text, values })
  return rows.map((row) => ({ task: taskViewOf(row), accountName: row.accountName }))
}

/** Adds a value to the statement's parameters and returns its place: `$1`. */
type Place = (value: unknown) => string

/**
 * Returns the statement that finds the page. It has only the conditions of this filter, and reads an index that has
 * the tasks in the order of the list, so that a filter of one field that matches little does not read the whole
 * history. The indexes for the tasks of all accounts begin with the model or the failure code, so the newest tasks of
 * each model or code are merged.
 */
function pageSql(filter: TaskFilter, place: Place): string {
  const { account, status, failureCode, since } = filter
  const conditions = conditionsOf(filter, place)
  const limit = place(filter.limit)
  const page = (more: string, order: string) =>
    `select task_id as id, created_at from task
     where ${[...conditions, more].join(' and ')}
     order by ${order} desc, task_id desc limit ${limit}`
  if (account !== undefined) {
    const own = `account_id = (select account_id from account where name = ${place(account)})`
    return page(own, 'created_at')
  }
  if (status === 'expired' && since === undefined) return page('true', 'expires_at')
  const isFailed = status === 'failed' || failureCode !== undefined
  const column = isFailed ? 'failure_code' : 'model'
  return `
    ${valuesSql(column, isFailed ? statusSql.failed : 'true')}
    select id, created_at
    from each cross join lateral (${page(`${column} = each.value`, 'created_at')}) newest
    order by created_at desc, id desc limit ${limit}`
}

/**
 * Returns a `with` clause whose part `each` has each value of the column once. It looks the values up in an index, one
 * after the other, and does not read the rows between them.
 */
const valuesSql = (column: string, condition: string) => `
  with recursive each (value) as (
    select min(${column}) from task where ${condition}
    union all
    select (select min(${column}) from task where ${condition} and ${column} > value) from each
    where value is not null
  )`

function conditionsOf(filter: TaskFilter, place: Place): readonly string[] {
  const { status, model, failureCode, since } = filter
  const conditions = [isKept]
  if (status !== undefined) conditions.push(statusSql[status])
  if (model !== undefined) conditions.push(`model = ${place(model)}`)
  if (failureCode !== undefined) {
    conditions.push(`${statusSql.failed} and failure_code = ${place(failureCode)}`)
  }
  if (since !== undefined) {
    conditions.push(
      'agoMs' in since
        ? `created_at >= now() - ${place(since.agoMs)}::float8 * interval '1 millisecond'`
        : `created_at >= to_timestamp(${place(since.atMs)}::float8 / 1000)`,
    )
  }
  if (filter.notRetried === true) {
    conditions.push('not exists (select from task retry where retry.retry_of = task.task_id)')
  }
  return conditions
}

const listSql = (page: string) => `
  select ${taskViewColumns}, account.name as "accountName"
  from (${page}) page join task on task.task_id = page.id join account using (account_id)
  order by task.created_at desc, task.task_id desc`
