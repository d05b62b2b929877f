import type { ClientBase, Pool } from 'pg'
import { defined } from '../../domain/defined.ts'
import { syncRoutes } from '../../domain/tasks/imageRequest.ts'
import type { TaskView } from '../../domain/tasks/task.ts'
import type { Row } from '../row.ts'

/**
 * Returns a task as the lookup shows it, with its native response or rejection if that is still kept. With `accountId`, only a task
 * of that account: the account is part of the condition, so that another account's task takes the same time and gives
 * the same result as an unknown one. A record that is due for the purge is not found, even if it is not yet purged.
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

/** A task without its native response. */
export type TaskViewRow = Row<Omit<TaskView, 'native' | 'rejection'>>

/** The failure of a row of `task`, as `TaskFailure`. Null for a task that has not failed. */
export const failureSql = `case when failure_code is not null then json_strip_nulls(json_build_object(
    'code', failure_code, 'cause', failure_cause, 'workPossible', work_possible,
    'retryAfterMs', failure_retry_after_ms)) end`

/**
 * The columns of `TaskViewRow`, for statements that read `task` without an alias. The creation time is in
 * whole seconds, as clients see it in every answer.
 */
export const taskViewColumns = `
  task.task_id as "taskId", task.account_id as "accountId", task.route, task.model, task.status,
  task.credits, nullif(task.refunded, 0) as "refundedCredits",
  (floor(extract(epoch from task.created_at)) * 1000)::float8 as "createdAtMs",
  (extract(epoch from now()) * 1000)::float8 as "nowMs",
  (extract(epoch from task.started_at) * 1000)::float8 as "startedAtMs",
  (extract(epoch from task.processing_at) * 1000)::float8 as "processingAtMs",
  (extract(epoch from task.completed_at) * 1000)::float8 as "completedAtMs",
  (extract(epoch from task.expires_at) * 1000)::float8 as "expiresAtMs",
  ${failureSql} as failure,
  case when task.answer_id is not null then json_build_object(
    'answerId', task.answer_id, 'mimeType', task.asset_mime_type, 'bytes', task.asset_bytes,
    'sha256', task.asset_sha256) end as asset`

/** The condition on a row of `task` that its record is not due for the purge. */
export const isKept = '(purge_at is null or purge_at > now())'

/** The condition on a row of `task` that a client waited for the image on an open connection. */
export const isSyncSql = `route in (${syncRoutes.map((route) => `'${route}'`).join(', ')})`
