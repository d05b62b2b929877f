import { taskIdPattern } from '../domain/ids.ts'
import { nativeByUrl } from '../domain/nativeResult.ts'
import { pollAfterSeconds } from '../domain/pollAfter.ts'
import type { RequestFailure } from '../domain/requestFailure.ts'
import { invalidRequest } from '../domain/requestFailure.ts'
import type { PublishedResult } from '../domain/taskRecord.ts'
import { publicStatus, taskRecord } from '../domain/taskRecord.ts'
import type { TaskView } from '../domain/taskState.ts'
import type { AccountHandler } from './apiContext.ts'
import type { ApiParts } from './apiParts.ts'
import { assetUrl } from './assetUrl.ts'
import { sendJson } from './sendJson.ts'

/** Spec, GET task lookup; identical under `/v1/task/{task_id}` and `/v1/tasks/{task_id}`. */
export function getTask(parts: ApiParts): AccountHandler {
  return async (context, caller) => {
    const { taskId = '' } = context.params
    if (!taskIdPattern.test(taskId)) return malformedTaskId
    const read = await parts.tasks.read(caller, taskId)
    if (!read.ok) return read.failure
    context.state.taskId = taskId
    const task = read.value
    if (task.completedAtMs === undefined) {
      const live = await parts.tasks.live(taskId)
      context.set('Retry-After', String(pollAfterSeconds(live, task.nowMs)))
    }
    const { usualDurationMs } = parts.config.capabilities[task.model]
    sendJson(context, 200, taskRecord(task, usualDurationMs, await publishedResult(parts, task)))
    return undefined
  }
}

/** Design section 4, Small print: not a secret whose shape must be hidden, so 400 and not 404. */
export const malformedTaskId: RequestFailure = invalidRequest(
  'invalid_request',
  'task_id',
  'The task id is malformed.',
)

async function publishedResult(
  parts: ApiParts,
  task: TaskView,
): Promise<PublishedResult | undefined> {
  if (publicStatus(task) !== 'succeeded' || task.asset === undefined) return undefined
  const url = assetUrl(task, parts.config.publicUrl, parts.signingKeys)
  if (url === undefined) return undefined
  const meta = await parts.tasks.answer(task)
  if (meta === undefined) return { url }
  return { url, native: nativeByUrl(meta.native, { url, mimeType: task.asset.mimeType }) }
}
