import type { Pool } from 'pg'
import type { OverdueTask } from '../domain/reconcileStore.ts'
import type { TaskStartRow } from './taskStartRow.ts'
import { taskStartColumns, taskStartOf } from './taskStartRow.ts'

/** Started live tasks that are overdue for a sign of life, and not past their end (design 1.12). */
export function createOverdueTasks(deps: { readonly pool: Pool }) {
  return async (limit: number): Promise<readonly OverdueTask[]> => {
    const { rows } = await deps.pool.query<TaskStartRow & { leaseLeftMs: number }>({
      name: 'overdue-tasks',
      text: overdueSql,
      values: [limit],
    })
    return rows.map((row) => ({ start: taskStartOf(row), leaseLeftMs: row.leaseLeftMs }))
  }
}

const overdueSql = `
  select ${taskStartColumns},
    greatest(0, coalesce((extract(epoch from open.lease_until - now()) * 1000)::float8, 0))
      as "leaseLeftMs"
  from task
  left join lateral (
    select max(lease_until) as lease_until from attempt
    where attempt.task_id = task.task_id and closed_at is null
  ) open on true
  where status in ('queued', 'processing') and next_check_at <= now()
    and started_at is not null
    and (deadline_at > now() or open.lease_until is not null and hard_end_at > now())
  order by next_check_at limit $1`
