import type { ServerResponse } from 'node:http'
import { assertNever } from '../../domain/assertNever.ts'
import type { TaskView } from '../../domain/task.ts'
import { publicStatus } from '../../domain/taskRecord.ts'
import type { TaskService } from '../../tasks/taskService.ts'
import type { ApiContext, ApiParts } from '../context.ts'
import type { HttpFailure } from '../errors.ts'
import type { AnswerAccepted } from '../intake/acceptRequest.ts'
import { taskUrl } from './answerAsync.ts'
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

/** The synchronous calls of this process that wait for the end of a task. */
export type SyncWaits = {
  /**
   * The task at its end, or as it is after `waitMs`; `undefined` when the client left. A task whose last
   * waiting client leaves is cancelled if it has done no work.
   */
  readonly wait: (
    taskId: string,
    response: ServerResponse,
    waitMs: number,
  ) => Promise<TaskView | undefined>
}

/**
 * Counts the clients that wait for each task: a retry with the same key often joins the task before the
 * first connection is known to be dead, and the task must not be cancelled then. The count does not include
 * clients of other API processes, nor a client that joins during the cancellation. `answerSync` accepts
 * their calls again.
 */
export function createSyncWaits(tasks: Pick<TaskService, 'awaitEnd' | 'cancel'>): SyncWaits {
  const clients = new Map<string, number>()

  function countClient(taskId: string, change: 1 | -1): number {
    const count = (clients.get(taskId) ?? 0) + change
    if (count === 0) clients.delete(taskId)
    else clients.set(taskId, count)
    return count
  }

  async function wait(
    taskId: string,
    response: ServerResponse,
    waitMs: number,
  ): Promise<TaskView | undefined> {
    const stop = new AbortController()
    const onStop = () => stop.abort()
    const timer = setTimeout(onStop, waitMs)
    countClient(taskId, 1)
    // The request is read to its end, so only the response still notices that its client leaves.
    response.once('close', onStop)
    if (response.closed) onStop()
    try {
      const task = await tasks.awaitEnd(taskId, stop.signal)
      if (!response.closed) return task
    } finally {
      clearTimeout(timer)
      response.off('close', onStop)
      if (countClient(taskId, -1) === 0 && response.closed) await tasks.cancel(taskId)
    }
    return undefined
  }

  return { wait }
}
