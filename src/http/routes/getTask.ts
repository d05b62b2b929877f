import type { Result } from '../../domain/result.ts'
import { fail, succeed } from '../../domain/result.ts'
import type { TaskView } from '../../domain/tasks/task.ts'
import { pollAfterSeconds } from '../../domain/tasks/pollAfter.ts'
import { accountRoute } from '../authenticate.ts'
import { recordOf } from '../answers/recordOf.ts'
import { sendJson } from '../answers/sendBody.ts'
import { setCreditsCharged } from '../answers/taskHeaders.ts'
import { tooManyWaiters } from '../answers/waitPlaces.ts'
import type { AccountHandler, ApiParts, HttpFailure, RouteContext } from '../context.ts'
import { readPreferWait } from '../intake/preferWait.ts'
import { requestedTask } from '../intake/requestedTask.ts'
import { taskId, taskRecord } from '../../schema/answers/taskRecord.ts'
import { json, underOtherPath } from '../route.ts'
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
  errors: ['malformed_task_id', 'task_not_found', 'rate_limit_exceeded'],
  handler: getTask,
})

/** The lookup of a task under both paths. The documentation of the API contract uses `/v1/tasks/…` most. */
export const getTaskRoutes = [getTaskRoute, underOtherPath(getTaskRoute)]

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
      if (stage !== undefined) {
        // An activity that waits for a place on a channel has not said yet what it does.
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
    const waited = await parts.tasks.awaitEnd(task.taskId, place.signal)
    if (context.res.closed) {
      context.respond = false
      return succeed('client_left')
    }
    if (waited === 'missing') return fail({ tag: 'task_not_found' })
    if (waited.completedAtMs !== undefined || !parts.stopping.aborted) context.set(applied)
    return succeed(waited)
  } finally {
    clearTimeout(timer)
    place.leave()
  }
}
