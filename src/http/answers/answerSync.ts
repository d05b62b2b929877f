import { assertNever } from '../../domain/assertNever.ts'
import { familyOf } from '../../domain/models/models.ts'
import type { TaskView } from '../../domain/tasks/task.ts'
import { chargedCredits } from '../../domain/tasks/task.ts'
import { publicStatus } from '../../domain/tasks/taskRecord.ts'
import type { Accepted } from '../../tasks/acceptTask.ts'
import type { ApiContext, ApiParts, HttpFailure } from '../context.ts'
import type { AnswerAccepted } from '../intake/acceptRequest.ts'
import { sendJson } from './sendBody.ts'
import { sendNative } from './sendNative.ts'
import { setCreditsCharged, taskUrl } from './taskHeaders.ts'

/**
 * Keeps the call open until its task ends, or until the synchronous deadline. The call may have joined the task of an
 * earlier call, by the same idempotency key. Where that task is cancelled because the earlier client left, the answer
 * is a 500 that may be repeated: the key is free by then, so the repeated call makes a new task.
 */
export function answerSync(context: ApiContext, parts: ApiParts): AnswerAccepted {
  return async (accepted) => {
    context.set('X-Task-Id', accepted.taskId)
    // If the client never receives this answer, it can still find the image under this URL.
    context.set('Location', taskUrl(parts.config.publicUrl, accepted.taskId))
    const task = await parts.syncWaits.wait(accepted, context.res, parts.config.syncDeadlineMs)
    if (task === 'missing') return answerMissing(context, parts, accepted)
    return answerTask(context, parts, task)
  }
}

/**
 * Answers for a task without a row. If this call made the task, a crash of PostgreSQL has undone it
 * (`insertTask.ts`), and nothing was called or charged. If an earlier call made the task, it may also have been
 * purged. In both cases the idempotency key is free, and the client may send its request again.
 */
function answerMissing(
  context: ApiContext,
  parts: ApiParts,
  { taskId, replayed }: Accepted,
): HttpFailure {
  const { requestId, route } = context.state
  if (!replayed) {
    parts.reportError?.(new Error(`PostgreSQL has lost ${taskId}`), { requestId, route })
  }
  // The error must not name a task that does not exist.
  for (const name of ['X-Task-Id', 'Location', 'Idempotent-Replayed']) context.remove(name)
  delete context.state.taskId
  delete context.state.replayed
  context.state.retryIsUnsafe = false
  return { tag: 'internal_error' }
}

async function answerTask(
  context: ApiContext,
  parts: ApiParts,
  task: TaskView | 'client_left',
): Promise<HttpFailure | undefined> {
  if (task === 'client_left') {
    // There is nobody to answer.
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
      await sendNative(context, parts, task, {
        'X-Credits-Charged': String(chargedCredits(task)),
      })
      return undefined
    default:
      return assertNever(status)
  }
}

/**
 * Answers for a failed task. When a model of family A rejects a request, it answers 200 and says so in the
 * body. Clients of `generateContent` expect that body, so they get it as it is.
 */
async function answerFailed(
  context: ApiContext,
  parts: ApiParts,
  task: TaskView,
): Promise<HttpFailure | undefined> {
  const { failure, route, taskId, model } = task
  if (failure === undefined) throw new Error(`Bug: ${taskId} failed without a failure`)
  context.state.retryIsUnsafe = failure.workPossible
  if (route === 'v1beta.generateContent' && failure.cause === 'rejected') {
    const rejection = await parts.tasks.nativeRejection(taskId)
    if (rejection !== undefined) {
      setCreditsCharged(context, task)
      sendJson(context, 200, rejection)
      return undefined
    }
  }
  return { tag: 'task_ended', failure, family: familyOf(model) }
}
