import { syncRoutes } from '../domain/tasks/imageRequest.ts'
import type { TaskView } from '../domain/tasks/task.ts'
import type { OutcomeEvidence } from '../domain/upstream/upstreamCall.ts'
import type { Row } from './row.ts'

// What statements of several rooms say alike about a row of `task` and of its attempts.

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
  task.task_id as "taskId", task.account_id as "accountId", task.route, task.family, task.model, task.status,
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

/** Returns the values of `reason`, `http_status`, `upstream_request_id` and `latency_ms`. */
export function evidenceOf(evidence: OutcomeEvidence): readonly unknown[] {
  const { reason, httpStatus, upstreamRequestId, latencyMs } = evidence
  const latency = latencyMs === undefined ? null : Math.round(latencyMs)
  return [reason, httpStatus ?? null, upstreamRequestId ?? null, latency]
}
