import type { Caller } from '../../domain/accounts/account.ts'
import type { RequestFailure } from '../../domain/failure.ts'
import { invalidRequest } from '../../domain/failure.ts'
import { taskIdPattern } from '../../domain/ids.ts'
import type { Result } from '../../domain/result.ts'
import { fail, succeed } from '../../domain/result.ts'
import type { TaskView } from '../../domain/tasks/task.ts'
import { pollAfterSeconds } from '../../domain/tasks/pollAfter.ts'
import type { PublishedResult, TaskRecord } from '../../domain/tasks/taskRecord.ts'
import { publicStatus, taskRecord } from '../../domain/tasks/taskRecord.ts'
import { nativeByUrl } from '../../domain/upstream/nativeResponse.ts'
import { sendJson } from '../answers/sendBody.ts'
import { setCreditsCharged } from '../answers/taskHeaders.ts'
import { assetUrl } from '../assetUrl.ts'
import { tooManyWaiters } from '../answers/waitPlaces.ts'
import type { AccountHandler, ApiParts, HttpFailure, RouteContext } from '../context.ts'
import { readPreferWait } from '../intake/preferWait.ts'

/** `GET /v1/tasks/{task_id}` and `GET /v1/task/{task_id}`: answers with the record of a task. */
export function getTask(parts: ApiParts): AccountHandler {
  return async (context, caller) => {
    const read = await requestedTask(parts, context, caller)
    if (!read.ok) return read.failure
    const waitSeconds = context.method === 'GET' ? readPreferWait(context.get('Prefer')) : undefined
    const waited =
      waitSeconds === undefined
        ? succeed(read.value)
        : await waitForEnd(parts, context, read.value, waitSeconds)
    if (!waited.ok) return waited.failure
    const task = waited.value
    if (task === 'client_left') return undefined
    if (task.completedAtMs === undefined) {
      // Temporal knows nothing about a task without a run. It is not asked for a client that has waited, because
      // many clients may wait at the same time.
      const isAsked = task.startedAtMs !== undefined && waitSeconds === undefined
      const stage = isAsked ? await parts.tasks.runStage(task.taskId) : undefined
      context.set('Retry-After', String(pollAfterSeconds(stage, task.nowMs)))
    }
    setCreditsCharged(context, task)
    sendJson(context, 200, recordOf(parts, task))
    return undefined
  }
}

/**
 * Returns the task when it has ended, and after `waitSeconds` the task as it is then. A stopping process
 * returns it at once, and does not say that it has waited.
 */
async function waitForEnd(
  parts: ApiParts,
  context: RouteContext,
  task: TaskView,
  waitSeconds: number,
): Promise<Result<TaskView | 'client_left', HttpFailure>> {
  const applied = { 'Preference-Applied': `wait=${waitSeconds}` }
  if (task.completedAtMs !== undefined) {
    context.set(applied)
    return succeed(task)
  }
  const place = parts.waitPlaces.take(task.accountId, context.res)
  if (place === undefined) return fail(tooManyWaiters)
  const timer = setTimeout(place.leave, waitSeconds * 1000)
  try {
    const waited = await parts.tasks.awaitEndOfLookup(task.taskId, place.signal)
    if (context.res.closed) {
      context.respond = false
      return succeed('client_left')
    }
    if (waited === undefined) return fail({ tag: 'task_not_found' })
    if (waited.completedAtMs !== undefined || !parts.stopping.aborted) context.set(applied)
    return succeed(waited)
  } finally {
    clearTimeout(timer)
    place.leave()
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
