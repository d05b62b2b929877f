import type { ClientBase, Pool } from 'pg'
import { defined } from '../../domain/defined.ts'
import type { TaskView } from '../../domain/tasks/task.ts'
import type { TaskViewRow } from '../taskRow.ts'
import { isKept, taskViewColumns } from '../taskRow.ts'

/**
 * Returns a task as the lookup shows it, with its native response or rejection if that is still kept. With `accountId`,
 * only a task of that account: the account is part of the condition, so that another account's task takes the same time
 * and gives the same result as an unknown one. A record that is due for the purge is not found, even if it is not yet
 * purged.
 */
export async function readTask(
  pool: Pool,
  taskId: string,
  accountId?: string,
): Promise<TaskView | undefined> {
  const { rows } = await pool.query<TaskViewRow & NativeTexts>({
    name: 'read-task',
    text: `select ${taskViewColumns}, native_response as native, native_rejection as rejection from task
      where task_id = $1 and ($2::text is null or account_id = $2) and ${isKept}`,
    values: [taskId, accountId ?? null],
  })
  const [row] = rows
  if (row === undefined) return undefined
  const { native, rejection, ...view } = row
  // A succeeded task has its native response until the sweep deletes its image.
  const natives: Pick<TaskView, 'native' | 'rejection'> = {
    ...(native === null ? {} : { native: JSON.parse(native) }),
    ...(rejection === null ? {} : { rejection: JSON.parse(rejection) }),
  }
  return { ...defined(view), ...natives }
}

type NativeTexts = { readonly native: string | null; readonly rejection: string | null }

/**
 * Returns a task for a request that names its image. Leaves out the native response, because it can be large
 * and such a request does not need it.
 */
export async function readTaskOfImage(
  client: Pool | ClientBase,
  taskId: string,
): Promise<TaskView | undefined> {
  const { rows } = await client.query<TaskViewRow>({
    name: 'read-task-of-image',
    text: `select ${taskViewColumns} from task where task_id = $1 and ${isKept}`,
    values: [taskId],
  })
  return rows[0] && defined(rows[0])
}
