import type { Caller } from '../../domain/accounts/account.ts'
import type { RequestFailure } from '../../domain/failure.ts'
import type { Result } from '../../domain/result.ts'
import { fail, succeed } from '../../domain/result.ts'
import type { TaskView } from '../../domain/tasks/task.ts'
import { publicStatus } from '../../domain/tasks/taskRecord.ts'
import { pollAfterSeconds } from '../../domain/tasks/pollAfter.ts'
import { accountRoute } from '../authenticate.ts'
import { recordOf, setCreditsCharged } from '../answers/recordOf.ts'
import { sendJson } from '../answers/sendBody.ts'
import { sendNative } from '../answers/sendNative.ts'
import { tooManyWaiters } from '../clientWaits.ts'
import type { AccountHandler } from '../authenticate.ts'
import type { ApiParts } from '../apiParts.ts'
import type { HttpFailure } from '../errors.ts'
import type { RouteContext } from '../route.ts'
import { readPreferWait } from '../intake/preferWait.ts'
import { contentResponse, imagesResponse } from '../../schema/answers/nativeAnswer.ts'
import { taskId, taskRecord } from '../../schema/answers/recordAnswer.ts'
import { json, underOtherPath } from '../route.ts'
import { wrongPathId } from '../intake/wrongPathId.ts'
import { z } from 'zod'

const getTaskRoute = accountRoute({
  method: 'GET',
  path: '/v1/tasks/{task_id}',
  id: 'getTask',
  summary: 'Read the record of a task',
  description: 'Only the account that created the task can read it.',
  envelope: 'short',
  params: { task_id: taskId },
  headers: {
    Prefer: z.string().optional().meta({
      description:
        'With `wait=N` (RFC 7240, N from 1 to 60), the answer comes when the task has ended, or after N seconds. Anything else is ignored.',
      example: 'wait=60',
    }),
  },
  answers: {
    200: {
      description:
        'The record. `Retry-After` is present until the task has ended, `X-Credits-Charged` after it. `X-Task-Stage` says more about a live task, where Temporal answers in time and no wait was asked for.',
      headers: ['Retry-After?', 'X-Task-Stage?', 'X-Credits-Charged?', 'Preference-Applied?'],
      content: json(taskRecord),
    },
  },
  errors: ['task_not_found', 'rate_limit_exceeded'],
  handler: getTask,
})

const getTaskResultRoute = accountRoute({
  method: 'GET',
  path: '/v1/tasks/{task_id}/result',
  id: 'getTaskResult',
  summary: 'Read the native response of a task',
  description: 'The same body as a synchronous call gets, with the bytes of the image in it.',
  extension: true,
  envelope: 'short',
  params: { task_id: taskId },
  answers: {
    200: {
      description: 'The native response of the model family.',
      content: json(z.union([imagesResponse, contentResponse])),
    },
  },
  errors: ['task_not_found', 'task_not_finished', 'task_failed'],
  handler: getTaskResult,
})

/** The two lookups of a task, each under both paths. The documentation of the API contract uses `/v1/tasks/…` most. */
export const getTaskRoutes = [getTaskRoute, getTaskResultRoute].flatMap((route) => [
  route,
  underOtherPath(route),
])

/** `GET /v1/tasks/{task_id}` and `GET /v1/task/{task_id}`: answers with the record of a task. */
function getTask(parts: ApiParts): AccountHandler {
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
    if (task.completedAtMs === undefined) {
      // Temporal knows nothing about a task without a run. It is not asked for a client that has waited, because
      // many clients may wait at the same time.
      const isAsked = task.startedAtMs !== undefined && waitSeconds === undefined
      const stage = isAsked ? await parts.tasks.runStage(task.taskId) : undefined
      if (stage !== undefined) {
        // An activity says what it does in its heartbeats, of which the first comes after seconds.
        const isInLine = stage.stage === 'calling' && task.status === 'queued'
        context.set('X-Task-Stage', isInLine ? 'waiting' : stage.stage)
      }
      context.set('Retry-After', String(pollAfterSeconds(stage, task.nowMs)))
    }
    setCreditsCharged(context, task)
    sendJson(context, 200, recordOf(parts, task))
    return undefined
  }
}

/**
 * Waits until the task has ended, at most `waitSeconds`, and returns it as it is then. When the process stops,
 * returns the task at once. The answer about a live task is then without `Preference-Applied`, because the client
 * asked for a longer wait. Fails when too many clients wait, and when the task no longer exists.
 */
async function waitForEnd(
  parts: ApiParts,
  context: RouteContext,
  task: TaskView,
  waitSeconds: number,
): Promise<Result<TaskView, HttpFailure>> {
  const applied = { 'Preference-Applied': `wait=${waitSeconds}` }
  if (task.completedAtMs !== undefined) {
    context.set(applied)
    return succeed(task)
  }
  const place = parts.waits.take(task.accountId, context.res)
  if (place === undefined) return fail(tooManyWaiters)
  const timer = setTimeout(place.leave, waitSeconds * 1000)
  try {
    const waited = await parts.tasks.awaitEnd(task.taskId, place.signal)
    if (waited === 'missing') return fail({ tag: 'task_not_found' })
    if (waited.completedAtMs !== undefined || !parts.stopping.aborted) context.set(applied)
    return succeed(waited)
  } finally {
    clearTimeout(timer)
    place.leave()
  }
}

/**
 * `GET /v1/tasks/{task_id}/result` and `GET /v1/task/{task_id}/result`: answers with the native response and
 * the image bytes in it. A synchronous call gets the same body.
 */
function getTaskResult(parts: ApiParts): AccountHandler {
  return async (context, caller) => {
    const read = await requestedTask(parts, context, caller)
    if (!read.ok) return read.failure
    const status = publicStatus(read.value)
    if (status !== 'succeeded') return { tag: noResult[status] }
    const isSent = await sendNative(context, parts, read.value)
    return isSent ? undefined : { tag: noResult.expired }
  }
}

const noResult = {
  queued: 'task_not_finished',
  processing: 'task_not_finished',
  failed: 'task_failed',
  expired: 'task_not_found',
} as const

/**
 * Returns the task that the path names, if it belongs to the caller. For a task of another account, answers
 * the same as for a task that does not exist.
 */
export async function requestedTask(
  parts: Pick<ApiParts, 'tasks'>,
  context: RouteContext,
  caller: Caller,
): Promise<Result<TaskView, RequestFailure>> {
  const wrongId = wrongPathId(context)
  if (wrongId !== undefined) return fail(wrongId)
  const { taskId = '' } = context.params
  const read = await parts.tasks.read(caller, taskId)
  if (read.ok) context.state.taskId = taskId
  return read
}
