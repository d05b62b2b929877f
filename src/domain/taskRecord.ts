import { defined } from './defined.ts'
import type { TaskFailureCode } from './failure.ts'
import { taskFailureMessages } from './failure.ts'
import type { JsonObject } from './json.ts'
import type { ImageMimeType, ModelId } from './models.ts'
import type { PublicStatus, TaskView } from './task.ts'

/** Spec, Task record, with `expired` and `result` of design section 4. What does not apply is absent. */
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

/** The published result of a succeeded task: its address and the native response that carries it. */
export type PublishedResult = { readonly url: string; readonly native?: JsonObject }

/** A succeeded task reads `expired` once its retention is over, by the database's clock. */
export function publicStatus(task: TaskView): PublicStatus {
  const { status, expiresAtMs, nowMs } = task
  const expired = status === 'succeeded' && expiresAtMs !== undefined && nowMs >= expiresAtMs
  return expired ? 'expired' : status
}

/** `published` is ignored unless the task is succeeded and not expired. */
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
    ...(failure === undefined
      ? {}
      : { error: { code: failure.code, message: taskFailureMessages[failure.code] } }),
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

/** The accepted response counts whole seconds: both forms must be the same instant. */
function wholeSeconds(epochMs: number): string {
  return new Date(Math.floor(epochMs / 1000) * 1000).toISOString().replace('.000Z', 'Z')
}

/** Until the image is there, however long it takes: 100 says that it is. */
const progressMax = 95

/** Share of the way that the usual duration covers: 1 - e^-1.6, about 80 of 100. */
const steepness = 1.6

type Timed = Pick<TaskView, 'status' | 'nowMs' | 'processingAtMs'>

/**
 * Design section 4, Progress: 0 queued, then by elapsed time against the model's usual duration, 100 on
 * success only. It depends on the row and its clock alone and grows with time, so no poll sees it fall;
 * what the workflow adds comes and goes (Temporal down, a worker lost) and could not promise that.
 */
export function progressOf(task: Timed, usualDurationMs: number): number {
  if (task.status === 'succeeded') return 100
  if (task.status === 'queued' || task.processingAtMs === undefined) return 0
  // A poll during the end's commit may have seen a later clock than the end did: no time is late enough.
  if (task.status === 'failed') return progressMax
  const elapsed = Math.max(0, task.nowMs - task.processingAtMs) / usualDurationMs
  const covered = 1 - Math.exp(-steepness * elapsed)
  return Math.min(progressMax, 1 + Math.floor(progressMax * covered))
}
