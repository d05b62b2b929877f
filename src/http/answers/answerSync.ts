import { assertNever } from '../../domain/assertNever.ts'
import type { TaskView } from '../../domain/tasks/task.ts'
import { chargedCredits } from '../../domain/tasks/task.ts'
import { publicStatus } from '../../domain/tasks/taskRecord.ts'
import type { ApiContext } from '../requestState.ts'
import type { ApiParts } from '../apiParts.ts'
import type { HttpFailure } from '../errors.ts'
import type { Accepted } from '../../tasks/acceptTask.ts'
import type { AnswerStream } from './answerStream.ts'
import { openStream, streamTimesDefault } from './answerStream.ts'
import { taskUrl } from './answerAsync.ts'
import { setCreditsCharged } from './recordOf.ts'
import { sendJson } from './sendBody.ts'
import { sendNative } from './sendNative.ts'
import type { StreamForm } from './streamForms.ts'

/** An accepted request. With `stream` its client asks for a stream. */
export type AcceptedCall = Accepted & { readonly stream?: StreamForm | undefined }

/**
 * Keeps the call open until its task ends, or until the synchronous deadline, which does not bind a stream. The call may
 * have joined the task of an earlier call, by the same idempotency key. Where that task is cancelled because the earlier
 * client left, the answer is a 500 that may be repeated: the key is free by then, so the repeated call makes a new task.
 */
export async function answerSync(
  context: ApiContext,
  parts: ApiParts,
  { stream: form, ...accepted }: AcceptedCall,
): Promise<HttpFailure | undefined> {
  context.set('X-Task-Id', accepted.taskId)
  // If the client never receives this answer, it can still find the image under this URL.
  context.set('Location', taskUrl(parts.config.publicUrl, accepted.taskId))
  const stream = form && openStream(context, form, parts.config.streamTimes ?? streamTimesDefault)
  try {
    const task = await parts.waits.untilEnd(accepted, context.res, stream !== undefined)
    if (task === 'missing') throw new Error(`${accepted.taskId} has no row any more`)
    // Also when the client has left: Koa then sends nothing.
    return await answerWaited(context, parts, task, stream)
  } finally {
    stream?.close()
  }
}

async function answerWaited(
  context: ApiContext,
  parts: ApiParts,
  task: TaskView,
  stream?: AnswerStream,
): Promise<HttpFailure | undefined> {
  const status = publicStatus(task)
  switch (status) {
    case 'queued':
    case 'processing':
      // A stream waits as long as its process serves. The same key finds the task at another one.
      if (context.state.stream !== undefined) context.state.retryIsUnsafe = false
      return { tag: 'generation_timeout' }
    case 'failed':
      return answerFailed(context, parts, task, stream)
    case 'expired':
      return { tag: 'result_expired' }
    case 'succeeded': {
      const charged = { 'X-Credits-Charged': String(chargedCredits(task)) }
      const isSent = await sendNative(context, parts, task, charged, stream)
      return isSent ? undefined : { tag: 'result_expired' }
    }
    default:
      return assertNever(status)
  }
}

/**
 * Answers for a failed task. When a model of family A rejects a request, it answers 200 and says so in the body.
 * Clients of `generateContent` expect that body, so they get it as it is. A 500 tells the client not to retry after a
 * call that may have done work, and after a cancel that somebody asked for. After any other failure a retry costs
 * nothing and may succeed.
 */
function answerFailed(
  context: ApiContext,
  { tasks }: ApiParts,
  task: TaskView,
  stream?: AnswerStream,
): HttpFailure | undefined {
  const { failure, route, taskId, family, model, rejection } = task
  if (failure === undefined) throw new Error(`Bug: ${taskId} failed without a failure`)
  context.state.retryIsUnsafe = failure.workPossible || failure.cause === 'cancelled'
  if (failure.cause === 'refused' || failure.cause === 'operator_fault') tasks.noteRefusal(model)
  const isNative = route === 'v1beta.generateContent' && failure.cause === 'rejected'
  if (isNative && rejection !== undefined) {
    setCreditsCharged(context, task)
    if (stream === undefined) sendJson(context, 200, rejection)
    else stream.end('completed', rejection)
    return undefined
  }
  return { tag: 'task_ended', failure, family }
}
