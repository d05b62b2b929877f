import type { Pool } from 'pg'
import type { TaskView } from '../domain/taskState.ts'
import type { NativeResponse } from '../domain/upstreamOutcome.ts'
import type { TaskViewRow } from './taskViewRow.ts'
import { taskViewColumns, taskViewOf } from './taskViewRow.ts'

/**
 * A task as the lookup shows it. The account is part of the condition, so a stranger's task costs and
 * answers exactly what an unknown one does. A record past its life is gone, swept or not.
 */
export async function readTask(
  pool: Pool,
  taskId: string,
  accountId?: string,
): Promise<TaskView | undefined> {
  const query =
    accountId === undefined
      ? { name: 'read-task', text: readSql, values: [taskId] }
      : {
          name: 'read-own-task',
          text: `${readSql} and account_id = $2`,
          values: [taskId, accountId],
        }
  const { rows } = await pool.query<TaskViewRow & { readonly native: string | null }>(query)
  const [row] = rows
  if (row === undefined || row.native === null) return row && taskViewOf(row)
  const native: NativeResponse = JSON.parse(row.native)
  return { ...taskViewOf(row), native }
}

/** The same by its id alone, without what surrounds its image: for whoever is given the image itself. */
export async function readTaskOfImage(pool: Pool, taskId: string): Promise<TaskView | undefined> {
  const { rows } = await pool.query<TaskViewRow>({
    name: 'read-task-of-image',
    text: `select ${taskViewColumns} ${fromSql}`,
    values: [taskId],
  })
  return rows[0] && taskViewOf(rows[0])
}

const fromSql = `from task where task_id = $1 and (purge_at is null or purge_at > now())`
const readSql = `select ${taskViewColumns}, native_response as native ${fromSql}`
