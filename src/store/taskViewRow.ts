import type { Route } from '../domain/imageRequest.ts'
import type { ImageMimeType, ModelId } from '../domain/models.ts'
import type { FailureCause, TaskFailureCode } from '../domain/taskFailure.ts'
import type { TaskStatus, TaskView } from '../domain/taskState.ts'

export type TaskViewRow = {
  readonly taskId: string
  readonly accountId: string
  readonly route: Route
  readonly model: ModelId
  readonly status: TaskStatus
  readonly createdAtMs: number
  readonly nowMs: number
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

/** The row as the domain knows it; what does not apply is absent. */
export function taskViewOf(row: TaskViewRow): TaskView {
  const { taskId, accountId, route, model, status, createdAtMs, nowMs } = row
  return {
    taskId,
    accountId,
    route,
    model,
    status,
    createdAtMs,
    nowMs,
    ...(row.processingAtMs === null ? {} : { processingAtMs: row.processingAtMs }),
    ...(row.completedAtMs === null ? {} : { completedAtMs: row.completedAtMs }),
    ...(row.expiresAtMs === null ? {} : { expiresAtMs: row.expiresAtMs }),
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

/**
 * Of a `task`, by its own name. Clients see the creation in whole seconds, everywhere the same (design
 * section 4).
 */
export const taskViewColumns = `
  task.task_id as "taskId", task.account_id as "accountId", route, task.model, status,
  (floor(extract(epoch from task.created_at)) * 1000)::float8 as "createdAtMs",
  (extract(epoch from now()) * 1000)::float8 as "nowMs",
  (extract(epoch from processing_at) * 1000)::float8 as "processingAtMs",
  (extract(epoch from completed_at) * 1000)::float8 as "completedAtMs",
  (extract(epoch from expires_at) * 1000)::float8 as "expiresAtMs",
  failure_code as "failureCode", failure_cause as "failureCause",
  failure_work_possible as "workPossible", failure_retry_after_ms as "retryAfterMs",
  answer_id as "answerId", asset_mime_type as "mimeType", asset_bytes as bytes,
  asset_sha256 as sha256`
