import type { Pool } from 'pg'
import { defined } from '../../domain/defined.ts'
import type { FailureCause, TaskFailureCode } from '../../domain/failure.ts'
import type { JsonObject } from '../../domain/json.ts'
import type { ImageMimeType, ModelId } from '../../domain/models/models.ts'
import type { Route } from '../../domain/tasks/imageRequest.ts'
import type { TaskStatus, TaskView } from '../../domain/tasks/task.ts'
import type { NativeResponse } from '../../domain/upstream/nativeResponse.ts'

/**
 * Returns a task as the lookup shows it, with its native response if that is still kept. With `accountId`, only a task
 * of that account: the account is part of the condition, so that another account's task takes the same time and gives
 * the same result as an unknown one. A record that is due for the purge is not found, even if it is not yet purged.
 */
export async function readTask(
  pool: Pool,
  taskId: string,
  accountId?: string,
): Promise<TaskView | undefined> {
  const { rows } = await pool.query<TaskViewRow & { readonly native: string | null }>({
    name: 'read-task',
    text: `select ${taskViewColumns}, native_response as native from task
      where task_id = $1 and ($2::text is null or account_id = $2) and ${isKept}`,
    values: [taskId, accountId ?? null],
  })
  const [row] = rows
  // A succeeded task has its native response until the sweep deletes its image.
  if (row === undefined || row.native === null) return row && taskViewOf(row)
  const native: NativeResponse = JSON.parse(row.native)
  return { ...taskViewOf(row), native }
}

/**
 * Returns a task for a request that names its image. Leaves out the native response, because it can be large
 * and such a request does not need it.
 */
export async function readTaskOfImage(pool: Pool, taskId: string): Promise<TaskView | undefined> {
  const { rows } = await pool.query<TaskViewRow>({
    name: 'read-task-of-image',
    text: `select ${taskViewColumns} from task where task_id = $1 and ${isKept}`,
    values: [taskId],
  })
  return rows[0] && taskViewOf(rows[0])
}

/**
 * Returns the answer with which a model of family A rejected the request, as `closeAttempt` recorded it. Returns
 * `undefined` for every other task.
 */
export async function readNativeRejection(
  pool: Pool,
  taskId: string,
): Promise<JsonObject | undefined> {
  const { rows } = await pool.query<{ rejection: string | null }>({
    name: 'read-native-rejection',
    text: 'select native_rejection as rejection from task where task_id = $1',
    values: [taskId],
  })
  const rejection = rows[0]?.rejection ?? undefined
  if (rejection === undefined) return undefined
  const parsed: JsonObject = JSON.parse(rejection)
  return parsed
}

/**
 * The columns of `TaskViewRow`, for statements that read `task` without an alias. The creation time is in
 * whole seconds, as clients see it in every answer.
 */
export const taskViewColumns = `
  task.task_id as "taskId", task.account_id as "accountId", task.route, task.model, task.status,
  task.credits,
  (floor(extract(epoch from task.created_at)) * 1000)::float8 as "createdAtMs",
  (extract(epoch from now()) * 1000)::float8 as "nowMs",
  (extract(epoch from task.started_at) * 1000)::float8 as "startedAtMs",
  (extract(epoch from task.processing_at) * 1000)::float8 as "processingAtMs",
  (extract(epoch from task.completed_at) * 1000)::float8 as "completedAtMs",
  (extract(epoch from task.expires_at) * 1000)::float8 as "expiresAtMs",
  task.failure_code as "failureCode", task.failure_cause as "failureCause",
  task.work_possible as "workPossible", task.failure_retry_after_ms as "retryAfterMs",
  task.answer_id as "answerId", task.asset_mime_type as "mimeType", task.asset_bytes as bytes,
  task.asset_sha256 as sha256`

/** The condition on a row of `task` that its record is not due for the purge. */
export const isKept = '(purge_at is null or purge_at > now())'

export type TaskViewRow = {
  readonly taskId: string
  readonly accountId: string
  readonly route: Route
  readonly model: ModelId
  readonly status: TaskStatus
  readonly credits: number
  readonly createdAtMs: number
  readonly nowMs: number
  readonly startedAtMs: number | null
  readonly processingAtMs: number | null
  readonly completedAtMs: number | null
  readonly expiresAtMs: number | null
  readonly failureCode: TaskFailureCode | null
  readonly failureCause: FailureCause | null
  readonly workPossible: boolean | null
  readonly retryAfterMs: number | null
  readonly answerId: string | null
  readonly mimeType: ImageMimeType | null
  readonly bytes: number | null
  readonly sha256: string | null
}

/** Returns the domain's view of a row. Fields that do not apply to the task are absent. */
export function taskViewOf(row: TaskViewRow): TaskView {
  const { taskId, accountId, route, model, status, credits, createdAtMs, nowMs } = row
  return {
    taskId,
    accountId,
    route,
    model,
    status,
    credits,
    createdAtMs,
    nowMs,
    ...defined({
      startedAtMs: row.startedAtMs,
      processingAtMs: row.processingAtMs,
      completedAtMs: row.completedAtMs,
      expiresAtMs: row.expiresAtMs,
    }),
    ...failureOf(row),
    ...assetOf(row),
  }
}

function failureOf(row: TaskViewRow): Pick<TaskView, 'failure'> {
  if (row.failureCode === null || row.failureCause === null) return {}
  const failure = {
    code: row.failureCode,
    cause: row.failureCause,
    workPossible: row.workPossible ?? false,
  }
  if (row.retryAfterMs === null) return { failure }
  return { failure: { ...failure, retryAfterMs: row.retryAfterMs } }
}

function assetOf(row: TaskViewRow): Pick<TaskView, 'asset'> {
  const { answerId, mimeType, bytes, sha256 } = row
  if (answerId === null || mimeType === null || bytes === null || sha256 === null) return {}
  return { asset: { answerId, mimeType, bytes, sha256 } }
}
