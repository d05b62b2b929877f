import type { Pool } from 'pg'
import type { TaskStatus } from '../../domain/tasks/task.ts'

/** What somebody has seen of a task: its status, or only that it was `live`. */
export type SeenStatus = TaskStatus | 'live'

/**
 * Returns the positions of those tasks that are no more as they were seen. A purged task has changed, and a live one of
 * any status is still `live`.
 */
export async function findChanged(
  pool: Pool,
  tasks: readonly { readonly taskId: string; readonly seen: SeenStatus }[],
): Promise<readonly number[]> {
  const { rows } = await pool.query<{ readonly index: number }>({
    name: 'find-changed',
    text: findSql,
    values: [tasks.map(({ taskId }) => taskId), tasks.map(({ seen }) => seen)],
  })
  return rows.map(({ index }) => index)
}

const findSql = `
  select (position - 1)::int as index
  from unnest($1::text[], $2::text[]) with ordinality as known (task_id, seen, position)
    left join task using (task_id)
  where task.task_id is null or case seen when 'live' then completed_at is not null else status <> seen end`
