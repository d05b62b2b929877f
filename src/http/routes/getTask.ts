import type { Caller } from '../../domain/account.ts'
import type { RequestFailure } from '../../domain/failure.ts'
import { invalidRequest } from '../../domain/failure.ts'
import { taskIdPattern } from '../../domain/ids.ts'
import { nativeByUrl } from '../../domain/nativeResponse.ts'
import type { Result } from '../../domain/result.ts'
import { fail } from '../../domain/result.ts'
import type { TaskView } from '../../domain/task.ts'
import { pollAfterSeconds } from '../../domain/task.ts'
import type { PublishedResult } from '../../domain/taskRecord.ts'
import { publicStatus, taskRecord } from '../../domain/taskRecord.ts'
import { sendJson } from '../answers/answerAccepted.ts'
import { assetUrl } from '../assetUrl.ts'
import type { AccountHandler, ApiParts, RouteContext } from '../context.ts'

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

/** Design section 4, Small print: not a secret whose shape must be hidden, so 400 and not 404. */
const malformedTaskId: RequestFailure = invalidRequest(
  'invalid_request',
  'task_id',
  'The task id is malformed.',
)

/** The caller's own task that the path names. */
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
