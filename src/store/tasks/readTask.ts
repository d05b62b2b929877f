import type { Pool } from 'pg'
import { defined } from '../../domain/defined.ts'
import type { FailureCause, TaskFailureCode } from '../../domain/failure.ts'
import type { JsonObject } from '../../domain/json.ts'
import type { ImageMimeType, ModelId } from '../../domain/models/models.ts'
import type { Route } from '../../domain/tasks/imageRequest.ts'
import type { TaskStatus, TaskView } from '../../domain/tasks/task.ts'
import type { NativeResponse } from '../../domain/upstream/nativeResponse.ts'
import { joinQueries } from '../connection/joinQueries.ts'

/**
 * Limit for the size of a native response that is read together with other tasks, as PostgreSQL stores it (compressed).
 * Nobody's lookup should wait for the large response of another task.
 */
const joinedNativeBytesMax = 8 * 1024
/** No native response has more bytes. */
const anyNativeBytes = 2 ** 31 - 1

/**
 * Creates the function that returns a task as the lookup shows it. With `accountId`, the function returns only a task
 * of that account. The account is part of the SQL condition, so that another account's task takes the same time and
 * gives the same result as an unknown task. A record that is due for the purge is not found, even if it is not yet
 * purged.
 */
export function createReadTask(pool: Pool) {
  const readJoined = joinQueries((asked: readonly AskedTask[]) =>
    readRows(pool, asked, joinedNativeBytesMax),
  )
  return async (taskId: string, accountId?: string): Promise<TaskView | undefined> => {
    const asked = { taskId, accountId }
    const row = await readJoined(asked)
    if (row?.isNativeLeftOut !== true) return row && withNative(row)
    const [whole] = await readRows(pool, [asked], anyNativeBytes)
    return whole && withNative(whole)
  }
}

type AskedTask = { readonly taskId: string; readonly accountId: string | undefined }

type FoundRow = TaskViewRow & {
  /** Which of the tasks that were asked for this is, counted from 1. */
  readonly position: number
  readonly native: string | null
  readonly isNativeLeftOut: boolean | null
}

/** Reads tasks, in the order of `asked`. Leaves out native responses that are larger than `nativeBytesMax`. */
async function readRows(
  pool: Pool,
  asked: readonly AskedTask[],
  nativeBytesMax: number,
): Promise<readonly (FoundRow | undefined)[]> {
  const { rows } = await pool.query<FoundRow>({
    name: 'read-tasks',
    text: readSql,
    values: [
      asked.map(({ taskId }) => taskId),
      asked.map(({ accountId }) => accountId ?? null),
      nativeBytesMax,
    ],
  })
  const found = new Map(rows.map((row) => [row.position, row]))
  return asked.map((_task, at) => found.get(at + 1))
}

function withNative(row: FoundRow): TaskView {
  // A succeeded task has its native response until the sweep deletes its image.
  if (row.native === null) return taskViewOf(row)
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

// `limit 1` makes PostgreSQL look each task up by its id, whatever it thinks of the size of the table.
const readSql = `
  select asked.position, found.*
  from unnest($1::text[], $2::text[]) with ordinality as asked (task_id, account_id, position)
  cross join lateral (
    select ${taskViewColumns},
      case when pg_column_size(native_response) <= $3::int then native_response end as native,
      pg_column_size(native_response) > $3::int as "isNativeLeftOut"
    from task
    where task.task_id = asked.task_id and ${isKept}
      and (asked.account_id is null or task.account_id = asked.account_id)
    limit 1) as found`

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
