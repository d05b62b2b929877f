import type { Pool } from 'pg'
import type { ListedTask, TaskFilter } from '../../domain/ports/taskAdmin.ts'
import type { TaskViewRow } from './readTask.ts'
import { taskViewColumns, taskViewOf } from './readTask.ts'

type ListedRow = TaskViewRow & { readonly accountName: string }

/**
 * Returns the tasks that match the filter, newest first. A field that the filter does not have matches every
 * task.
 */
export async function listTasks(pool: Pool, filter: TaskFilter): Promise<readonly ListedTask[]> {
  const { since } = filter
  const { rows } = await pool.query<ListedRow>(listSql, [
    filter.account ?? null,
    filter.status ?? null,
    filter.model ?? null,
    filter.failureCode ?? null,
    since !== undefined && 'agoMs' in since ? since.agoMs : null,
    since !== undefined && 'atMs' in since ? since.atMs : null,
    filter.notRetried ?? false,
    filter.limit,
  ])
  return rows.map((row) => ({ task: taskViewOf(row), accountName: row.accountName }))
}

/**
 * A null parameter matches every task. A succeeded task whose image has expired counts as `expired`, as
 * clients see it.
 */
const listSql = `
  select ${taskViewColumns}, account.name as "accountName"
  from task join account using (account_id)
  where (purge_at is null or purge_at > now())
    and ($1::text is null or account.name = $1)
    and ($2::text is null or $2 = case
      when status = 'succeeded' and expires_at <= now() then 'expired' else status end)
    and ($3::text is null or model = $3)
    and ($4::text is null or failure_code = $4)
    and ($5::float8 is null or task.created_at >= now() - $5 * interval '1 millisecond')
    and ($6::float8 is null or task.created_at >= to_timestamp($6 / 1000))
    and (not $7 or not exists (select from task retry where retry.retry_of = task.task_id))
  order by task.created_at desc, task.task_id
  limit $8`
