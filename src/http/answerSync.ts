import { assertNever } from '../domain/assertNever.ts'
import { publicStatus } from '../domain/taskRecord.ts'
import type { TaskView } from '../domain/taskState.ts'
import type { Accepted } from '../tasks/taskService.ts'
import type { ApiContext } from './apiContext.ts'
import type { ApiParts } from './apiParts.ts'
import type { HttpFailure } from './httpFailure.ts'
import { sendJson } from './sendJson.ts'
import { sendNative } from './sendNative.ts'
import { taskUrl } from './sendAccepted.ts'

/** Holds the call open until its task ends: a synchronous call is a view over a task (design 1.13). */
export async function answerSync(
  context: ApiContext,
  parts: ApiParts,
  { taskId }: Accepted,
): Promise<HttpFailure | undefined> {
  const { syncDeadlineMs, publicUrl } = parts.config
  context.set('X-Task-Id', taskId)
  // Where the image is to be had, whatever becomes of this answer.
  context.set('Location', taskUrl(publicUrl, taskId))
  const task = await parts.syncWaits.wait(taskId, context.res, syncDeadlineMs)
  if (task === undefined) {
    // Nobody is there to be answered.
    context.respond = false
    return undefined
  }
  const status = publicStatus(task)
  switch (status) {
    case 'queued':
    case 'processing':
      return { tag: 'sync_deadline' }
    case 'failed':
      return answerFailed(context, parts, task)
    case 'expired':
      return { tag: 'result_expired' }
    case 'succeeded':
      await sendNative(context, parts, task)
      return undefined
    default:
      return assertNever(status)
  }
}

/** Design section 4, Ends of a task. Family A's refusal by the model is a 200 to its own clients. */
async function answerFailed(
  context: ApiContext,
  parts: ApiParts,
  task: TaskView,
): Promise<HttpFailure | undefined> {
  const { failure, route, taskId } = task
  if (failure === undefined) throw new Error(`Bug: ${taskId} failed without a failure`)
  context.state.retryMayRepeatWork = failure.workPossible
  if (route === 'v1beta.generateContent' && failure.cause === 'rejected') {
    const refusal = await parts.tasks.nativeRefusal(taskId)
    if (refusal !== undefined) {
      sendJson(context, 200, refusal)
      return undefined
    }
  }
  return { tag: 'task_ended', failure }
}
