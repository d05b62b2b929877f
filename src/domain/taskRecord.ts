import type { JsonObject } from './imageRequest.ts'
import type { ImageMimeType, ModelId } from './models.ts'
import { progressOf } from './progress.ts'
import type { TaskFailureCode } from './taskFailure.ts'
import { taskFailureMessages } from './taskFailure.ts'
import type { PublicStatus, TaskView } from './taskState.ts'

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
    ...(native === undefined ? {} : { result: native }),
  }
}

/** The accepted response counts whole seconds: both forms must be the same instant. */
function wholeSeconds(epochMs: number): string {
  return new Date(Math.floor(epochMs / 1000) * 1000).toISOString().replace('.000Z', 'Z')
}
