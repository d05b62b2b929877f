import { assertNever } from '../domain/assertNever.ts'
import { publicStatus } from '../domain/taskRecord.ts'
import type { TaskView } from '../domain/taskState.ts'
import type { AnswerAccepted } from './acceptRequest.ts'
import { taskUrl } from './answerAccepted.ts'
import type { ApiContext } from './apiContext.ts'
import type { ApiParts } from './apiParts.ts'
import type { HttpFailure } from './httpFailure.ts'
import { sendJson } from './sendJson.ts'
import { sendNative } from './sendNative.ts'

/** A task that was joined is cancelled under a call once; again and again it would be no coincidence. */
const joinsMax = 3

/**
 * Holds the call open until its task ends: a synchronous call is a view over a task (design 1.13). One
 * that joined a task which is then cancelled, for a client that had left or by an operator, is a new try:
 * that task cost nothing, and has given its key back.
 */
export function answerSync(context: ApiContext, parts: ApiParts): AnswerAccepted {
  return async (first, again) => {
    const endsAtMs = performance.now() + parts.config.syncDeadlineMs
    let accepted = first
    for (let joins = 1; ; joins += 1) {
      context.set('X-Task-Id', accepted.taskId)
      // Where the image is to be had, whatever becomes of this answer.
      context.set('Location', taskUrl(parts.config.publicUrl, accepted.taskId))
      const waitMs = Math.max(0, endsAtMs - performance.now())
      const task = await parts.syncWaits.wait(accepted.taskId, context.res, waitMs)
      const isOver = !accepted.replayed || joins === joinsMax || again === undefined
      if (isOver || !isAsIfNeverBeen(task)) {
        return answerTask(context, parts, task)
      }
      forget(context)
      const renewed = await again()
      if (!renewed.ok) return renewed.failure
      accepted = renewed.value
    }
  }
}

/** A refusal of the new try is none of the task that was joined. */
function forget(context: ApiContext): void {
  for (const name of ['X-Task-Id', 'Location', 'Idempotent-Replayed']) context.remove(name)
  delete context.state.taskId
  delete context.state.replayed
}

function isAsIfNeverBeen(task: TaskView | undefined): boolean {
  return task?.failure?.cause === 'cancelled' && !task.failure.workPossible
}

async function answerTask(
  context: ApiContext,
  parts: ApiParts,
  task: TaskView | undefined,
): Promise<HttpFailure | undefined> {
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
