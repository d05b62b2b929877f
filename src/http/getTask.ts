import { nativeByUrl } from '../domain/nativeResult.ts'
import { pollAfterSeconds } from '../domain/pollAfter.ts'
import type { PublishedResult } from '../domain/taskRecord.ts'
import { publicStatus, taskRecord } from '../domain/taskRecord.ts'
import type { TaskView } from '../domain/taskState.ts'
import type { AccountHandler } from './apiContext.ts'
import type { ApiParts } from './apiParts.ts'
import { assetUrl } from './assetUrl.ts'
import { requestedTask } from './requestedTask.ts'
import { sendJson } from './sendJson.ts'

/** Spec, GET task lookup; identical under `/v1/task/{task_id}` and `/v1/tasks/{task_id}`. */
export function getTask(parts: ApiParts): AccountHandler {
  return async (context, caller) => {
    const read = await requestedTask(parts, context, caller)
    if (!read.ok) return read.failure
    const task = read.value
    if (task.completedAtMs === undefined) {
      const live = await parts.tasks.live(task.taskId)
      context.set('Retry-After', String(pollAfterSeconds(live, task.nowMs)))
    }
    const { usualDurationMs } = parts.config.capabilities[task.model]
    const published = await publishedResult(parts, task)
    sendJson(context, 200, taskRecord(task, usualDurationMs, published))
    return undefined
  }
}

async function publishedResult(
  parts: ApiParts,
  task: TaskView,
): Promise<PublishedResult | undefined> {
  if (publicStatus(task) !== 'succeeded' || task.asset === undefined) return undefined
  const url = assetUrl(task, parts.config.publicUrl, parts.signingKeys)
  if (url === undefined) return undefined
  // A task of the version before has it in the blob store alone: that being away costs nothing else.
  const native = await parts.tasks.native(task).catch(() => undefined)
  if (native === undefined) return { url }
  return { url, native: nativeByUrl(native, { url, mimeType: task.asset.mimeType }) }
}
