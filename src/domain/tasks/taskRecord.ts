import { defined } from '../defined.ts'
import type { TaskFailureCode } from '../failure.ts'
import { taskFailureMessages } from '../failure.ts'
import type { JsonObject } from '../json.ts'
import type { ImageMimeType, ModelId } from '../models/models.ts'
import type { PublicStatus, TaskView } from './task.ts'

/** The JSON of a task. A field that does not apply is absent, never null. */
export type TaskRecord = {
  readonly task_id: string
  readonly model: ModelId
  readonly status: PublicStatus
  readonly created_at: string
  readonly progress: number
  readonly completed_at?: string
  readonly output?: {
    readonly assets: readonly {
      readonly type: 'image'
      readonly url: string
      readonly mime_type: ImageMimeType
    }[]
  }
  readonly error?: { readonly code: TaskFailureCode; readonly message: string }
  readonly result?: JsonObject
}

/** The result of a succeeded task: the URL of its image, and the native response with that URL. */
export type PublishedResult = { readonly url: string; readonly native?: JsonObject }

/** Returns the status of the task's row, or `expired` for a succeeded task whose image has expired. */
export function publicStatus(task: TaskView): PublicStatus {
  const { status, expiresAtMs, nowMs } = task
  const expired = status === 'succeeded' && expiresAtMs !== undefined && nowMs >= expiresAtMs
  return expired ? 'expired' : status
}

/**
 * Returns the record that clients see. `published` is used only for a succeeded task that has not expired.
 * `usualDurationMs` is the usual duration of the model, for the progress.
 */
export function taskRecord(
  task: TaskView,
  usualDurationMs: number,
  published?: PublishedResult,
): TaskRecord {
  const status = publicStatus(task)
  const { taskId, model, createdAtMs, completedAtMs, failure } = task
  return {
    task_id: taskId,
    model,
    status,
    created_at: wholeSeconds(createdAtMs),
    progress: progressOf(task, usualDurationMs),
    ...(completedAtMs === undefined ? {} : { completed_at: wholeSeconds(completedAtMs) }),
    ...(status === 'succeeded' ? outputOf(task, published) : {}),
    ...defined({
      error: failure && { code: failure.code, message: taskFailureMessages[failure.code] },
    }),
  }
}

function outputOf(
  task: TaskView,
  published: PublishedResult | undefined,
): Pick<TaskRecord, 'output' | 'result'> {
  if (task.asset === undefined || published === undefined) return {}
  const { url, native } = published
  return {
    output: { assets: [{ type: 'image', url, mime_type: task.asset.mimeType }] },
    ...defined({ result: native }),
  }
}

/**
 * Returns an RFC 3339 time in whole seconds, because the answer to the client's submit contains the same
 * instant in whole seconds.
 */
function wholeSeconds(epochMs: number): string {
  return new Date(Math.floor(epochMs / 1000) * 1000).toISOString().replace('.000Z', 'Z')
}

/**
 * The highest progress of a task without an image. It is below 100, because 100 means that the image exists.
 */
export const progressMax = 95

/**
 * Shape of the progress curve. With 1.6, the progress after the usual duration is about 80 percent of the
 * maximum (1 - e^-1.6).
 */
const steepness = 1.6

export type Timed = Pick<TaskView, 'status' | 'nowMs' | 'processingAtMs'>

/**
 * Returns the progress in percent: 0 while the task is queued, 100 only after success, and between them an
 * estimate from the model's usual duration. Only the task's row and PostgreSQL's clock are used, so a client
 * never sees the progress fall. The workflow's knowledge is not used, because it can disappear together with
 * Temporal or a worker.
 */
export function progressOf(task: Timed, usualDurationMs: number): number {
  if (task.status === 'succeeded') return 100
  if (task.status === 'queued' || task.processingAtMs === undefined) return 0
  // A client may have seen any progress up to the maximum before the failure. Only the maximum guarantees
  // that the progress does not fall.
  if (task.status === 'failed') return progressMax
  const elapsed = Math.max(0, task.nowMs - task.processingAtMs) / usualDurationMs
  const covered = 1 - Math.exp(-steepness * elapsed)
  return Math.min(progressMax, 1 + Math.floor(progressMax * covered))
}
