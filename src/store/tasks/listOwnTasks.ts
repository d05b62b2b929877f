import type { Pool } from 'pg'
import type { OwnTaskFilter, Page } from '../../domain/ports/accountReads.ts'
import type { PublicStatus, TaskView } from '../../domain/tasks/task.ts'
import type { TaskViewRow } from './readTask.ts'
import { isKept, taskViewColumns, taskViewOf } from './readTask.ts'

/**
 * Returns the tasks of one account that match the filter, newest first, beginning after the task `after`. The
 * instants of PostgreSQL have microseconds and those of JavaScript do not, so instants are passed as texts and
 * PostgreSQL alone compares them.
 */
export async function listOwnTasks(
  pool: Pool,
  accountId: string,
  filter: OwnTaskFilter,
): Promise<Page<TaskView> | 'unknown_after'> {
  const { status, model, action, createdAfter, createdBefore, after, limit } = filter
  const position = after === undefined ? undefined : await positionOf(pool, accountId, after)
  if (position === undefined && after !== undefined) return 'unknown_after'
  const values: unknown[] = [accountId, limit + 1]
  const conditions: string[] = []
  const add = (condition: (place: string) => string, value: string | undefined) => {
    if (value === undefined) return
    values.push(value)
    conditions.push(`and ${condition(`$${values.length}`)}`)
  }
  if (status !== undefined) conditions.push(`and ${statusSql[status]}`)
  add((place) => `model = ${place}`, model)
  add((place) => `action = ${place}`, action)
  add((place) => `created_at >= ${place}::timestamptz`, createdAfter)
  add((place) => `created_at < ${place}::timestamptz`, createdBefore)
  add((place) => `(created_at, task_id) < (${place}::timestamptz, $${values.length + 1})`, position)
  if (position !== undefined) values.push(after)
  const statement = { text: listSql(conditions), values }
  const { rows } = await pool.query<TaskViewRow>(statement)
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

/**
 * A succeeded task whose image has expired counts as `expired`, as clients see it. The statuses are constants,
 * so that PostgreSQL can use the index of each.
 */
export const statusSql: Readonly<Record<PublicStatus, string>> = {
  queued: `status = 'queued'`,
  processing: `status = 'processing'`,
  succeeded: `status = 'succeeded' and expires_at > now()`,
  expired: `status = 'succeeded' and expires_at <= now()`,
  failed: `status = 'failed'`,
}

/**
 * The inner part finds the page. For each filter there is an index in the order of the list. The index of succeeded
 * tasks also contains `expires_at` and `purge_at`, so PostgreSQL can skip tasks without reading their rows.
 */
const listSql = (conditions: readonly string[]) => `
  select ${taskViewColumns} from task join (
    select task_id as id from task
    where account_id = $1 and ${isKept} ${conditions.join(' ')}
    order by created_at desc, task_id desc
    limit $2
  ) page on task.task_id = page.id
  order by created_at desc, task_id desc`
