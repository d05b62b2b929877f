import type { AnswerMeta } from '../domain/answerMeta.ts'
import { nativeByUrl } from '../domain/nativeResult.ts'
import { pollAfterSeconds } from '../domain/pollAfter.ts'
import type { PublishedResult } from '../domain/taskRecord.ts'
import { publicStatus, taskRecord } from '../domain/taskRecord.ts'
import type { TaskView } from '../domain/taskState.ts'
import type { AccountHandler, ApiContext } from './apiContext.ts'
import type { ApiParts } from './apiParts.ts'
import { assetUrl } from './assetUrl.ts'
import { requestedTask } from './requestedTask.ts'
import { sendJson } from './sendJson.ts'

/** A poll is to be quick: a blob store that takes longer is not waited for. */
const resultReadMsMax = 1_500

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
    const published = await publishedResult(context, parts, task)
    sendJson(context, 200, taskRecord(task, usualDurationMs, published))
    return undefined
  }
}

async function publishedResult(
  context: ApiContext,
  parts: ApiParts,
  task: TaskView,
): Promise<PublishedResult | undefined> {
  if (publicStatus(task) !== 'succeeded' || task.asset === undefined) return undefined
  const url = assetUrl(task, parts.config.publicUrl, parts.signingKeys)
  if (url === undefined) return undefined
  const meta = await storedAnswer(context, parts, task)
  if (meta === undefined) return { url }
  return { url, native: nativeByUrl(meta.native, { url, mimeType: task.asset.mimeType }) }
}

/**
 * PostgreSQL alone says that a task has succeeded and where its image is: a blob store that fails costs
 * the record nothing but its `result`.
 */
async function storedAnswer(
  context: ApiContext,
  parts: ApiParts,
  task: TaskView,
): Promise<AnswerMeta | undefined> {
  try {
    return await parts.tasks.answer(task, resultReadMsMax)
  } catch (error) {
    const { requestId, route } = context.state
    parts.reportNoResult?.(error, { requestId, route, taskId: task.taskId })
    return undefined
  }
}
