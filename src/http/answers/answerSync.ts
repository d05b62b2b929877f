import { assertNever } from '../../domain/assertNever.ts'
import { familyOf } from '../../domain/models/models.ts'
import type { TaskView } from '../../domain/tasks/task.ts'
import { publicStatus } from '../../domain/tasks/taskRecord.ts'
import { taskUrl } from './answerAsync.ts'
import type { ApiContext, ApiParts, HttpFailure } from '../context.ts'
import type { AnswerAccepted } from '../intake/acceptRequest.ts'
import { sendJson } from './sendBody.ts'
import { sendNative } from './sendNative.ts'

/** How many tasks one call may wait for. The limit ends a loop that should never occur. */
const tasksWaitedForMax = 3

/**
 * Holds the call open until its task ends, or until the synchronous deadline. A call that joined another
 * call's task may see that task cancelled, because the other client left or an operator cancelled it. When
 * the task did no work, its key is free again, and this call is accepted once more as a new task.
 */
export function answerSync(context: ApiContext, parts: ApiParts): AnswerAccepted {
  return async (first, acceptAgain) => {
    const endsAtMs = performance.now() + parts.config.syncDeadlineMs
    let accepted = first
    for (let waitedFor = 1; ; waitedFor += 1) {
      context.set('X-Task-Id', accepted.taskId)
      // The image can be found there even if this answer is never received.
      context.set('Location', taskUrl(parts.config.publicUrl, accepted.taskId))
      const waitMs = Math.max(0, endsAtMs - performance.now())
      const task = await parts.syncWaits.wait(accepted.taskId, context.res, waitMs)
      const mayAcceptAgain = accepted.replayed && waitedFor < tasksWaitedForMax
      if (!mayAcceptAgain || acceptAgain === undefined || !wasCancelledBeforeWork(task)) {
        return answerTask(context, parts, task)
      }
      removeJoinedTask(context)
      const next = await acceptAgain()
      if (!next.ok) return next.failure
      accepted = next.value
    }
  }
}

function wasCancelledBeforeWork(task: TaskView | undefined): boolean {
  return task?.failure?.cause === 'cancelled' && !task.failure.workPossible
}

/** If the second acceptance is refused, its answer must not name the cancelled task. */
function removeJoinedTask(context: ApiContext): void {
  for (const name of ['X-Task-Id', 'Location', 'Idempotent-Replayed']) context.remove(name)
  delete context.state.taskId
  delete context.state.replayed
}

async function answerTask(
  context: ApiContext,
  parts: ApiParts,
  task: TaskView | undefined,
): Promise<HttpFailure | undefined> {
  if (task === undefined) {
    // The client has left.
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

/** A model of family A that refuses a request says so in a 200 of its own, which its clients expect. */
async function answerFailed(
  context: ApiContext,
  parts: ApiParts,
  task: TaskView,
): Promise<HttpFailure | undefined> {
  const { failure, route, taskId, model } = task
  if (failure === undefined) throw new Error(`Bug: ${taskId} failed without a failure`)
  context.state.retryMayRepeatWork = failure.workPossible
  if (route === 'v1beta.generateContent' && failure.cause === 'rejected') {
    const refusal = await parts.tasks.nativeRefusal(taskId)
    if (refusal !== undefined) {
      sendJson(context, 200, refusal)
      return undefined
    }
  }
  return { tag: 'task_ended', failure, family: familyOf(model) }
}
