import type { ServerResponse } from 'node:http'
import { assertNever } from '../../domain/assertNever.ts'
import type { TaskView } from '../../domain/task.ts'
import { publicStatus } from '../../domain/taskRecord.ts'
import type { TaskService } from '../../tasks/taskService.ts'
import type { ApiContext, ApiParts } from '../context.ts'
import type { HttpFailure } from '../errors.ts'
import type { AnswerAccepted } from '../intake/acceptRequest.ts'
import { sendJson, taskUrl } from './answerAccepted.ts'
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

/** The clients that hold a connection open for the end of a task. */
export type SyncWaits = {
  /** The view at the task's end; as it stands when the time is over; `undefined` when the client left. */
  readonly wait: (
    taskId: string,
    response: ServerResponse,
    waitMs: number,
  ) => Promise<TaskView | undefined>
}

/**
 * When its client leaves, a task is cancelled if that costs nothing (design 1.11), but not while another
 * client waits for the same task: a retry with the same key joins before the first connection is known
 * to be dead. It knows nothing of clients on other API processes, nor of one that joins while it cancels:
 * these begin anew (`answerSync.ts`).
 */
export function createSyncWaits(tasks: Pick<TaskService, 'awaitEnd' | 'cancel'>): SyncWaits {
  const waiting = new Map<string, number>()

  function add(taskId: string, count: 1 | -1): number {
    const sum = (waiting.get(taskId) ?? 0) + count
    if (sum === 0) waiting.delete(taskId)
    else waiting.set(taskId, sum)
    return sum
  }

  async function wait(
    taskId: string,
    response: ServerResponse,
    waitMs: number,
  ): Promise<TaskView | undefined> {
    const stop = new AbortController()
    const onStop = () => stop.abort()
    const timer = setTimeout(onStop, waitMs)
    add(taskId, 1)
    // Only the response's close tells that a client left (research/reliability.md section 5).
    response.once('close', onStop)
    if (response.closed) onStop()
    try {
      const view = await tasks.awaitEnd(taskId, stop.signal)
      if (!response.closed) return view
    } finally {
      clearTimeout(timer)
      response.off('close', onStop)
      if (add(taskId, -1) === 0 && response.closed) await tasks.cancel(taskId)
    }
    return undefined
  }

  return { wait }
}
