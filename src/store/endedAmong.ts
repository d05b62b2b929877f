import type { Pool } from 'pg'

/** Which of these tasks are over: ended, or no longer there at all. */
export async function endedAmong(
  pool: Pool,
  taskIds: readonly string[],
): Promise<readonly string[]> {
  const { rows } = await pool.query<{ taskId: string }>({
    name: 'ended-among',
    text: `select asked.task_id as "taskId"
      from unnest($1::text[]) as asked (task_id) left join task using (task_id)
      where task.task_id is null or task.completed_at is not null`,
    values: [taskIds],
  })
  return rows.map((row) => row.taskId)
}
