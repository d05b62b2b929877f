import type { Caller } from '../../domain/accounts/account.ts'
import type { RequestFailure } from '../../domain/failure.ts'
import { invalidRequest } from '../../domain/failure.ts'
import { taskIdPattern } from '../../domain/ids.ts'
import type { Result } from '../../domain/result.ts'
import { fail } from '../../domain/result.ts'
import type { TaskView } from '../../domain/tasks/task.ts'
import { pollAfterSeconds } from '../../domain/tasks/task.ts'
import type { PublishedResult, TaskRecord } from '../../domain/tasks/taskRecord.ts'
import { publicStatus, taskRecord } from '../../domain/tasks/taskRecord.ts'
import { nativeByUrl } from '../../domain/upstream/nativeResponse.ts'
import { setCharged } from '../answers/answerSync.ts'
import { sendJson } from '../answers/sendBody.ts'
import { assetUrl } from '../assetUrl.ts'
import type { AccountHandler, ApiParts, RouteContext } from '../context.ts'

/** `GET /v1/tasks/{task_id}` and `GET /v1/task/{task_id}`: answers with the record of a task. */
export function getTask(parts: ApiParts): AccountHandler {
  return async (context, caller) => {
    const read = await requestedTask(parts, context, caller)
    if (!read.ok) return read.failure
    const task = read.value
    if (task.completedAtMs === undefined) {
      // Temporal knows nothing about a task without a run.
      const hasRun = task.startedAtMs !== undefined
      const live = hasRun ? await parts.tasks.live(task.taskId) : undefined
      context.set('Retry-After', String(pollAfterSeconds(live, task.nowMs)))
    }
    setCharged(context, task)
    sendJson(context, 200, recordOf(parts, task))
    return undefined
  }
}

/** Returns the record of a task as clients see it, with its result if it has one. */
export function recordOf(parts: RecordParts, task: TaskView): TaskRecord {
  const { usualDurationMs } = parts.config.capabilities[task.model]
  return taskRecord(task, usualDurationMs, publishedResult(parts, task))
}

type RecordParts = Pick<ApiParts, 'config' | 'signingKeys'>

function publishedResult(parts: RecordParts, task: TaskView): PublishedResult | undefined {
  const { asset, native } = task
  if (publicStatus(task) !== 'succeeded' || asset === undefined) return undefined
  const url = assetUrl(task, parts.config.publicUrl, parts.signingKeys)
  if (url === undefined) return undefined
  if (native === undefined) return { url }
  return { url, native: nativeByUrl(native, { url, mimeType: asset.mimeType }) }
}

/**
 * Returns the task that the path names, if it belongs to the caller. For a task of another account, answers
 * the same as for a task that does not exist. A malformed id gets a 400, which reveals nothing, because the
 * form of task ids is public.
 */
export async function requestedTask(
  parts: Pick<ApiParts, 'tasks'>,
  context: RouteContext,
  caller: Caller,
): Promise<Result<TaskView, RequestFailure>> {
  const { taskId = '' } = context.params
  if (!taskIdPattern.test(taskId)) return fail(malformedTaskId)
  const read = await parts.tasks.read(caller, taskId)
  if (read.ok) context.state.taskId = taskId
  return read
}

export const malformedTaskId = invalidRequest(
  'invalid_request',
  'task_id',
  'The task id is malformed.',
)
