import type { ServerResponse } from 'node:http'
import type { TaskView } from '../../domain/tasks/task.ts'
import type { TaskService } from '../../tasks/taskService.ts'

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
export function createSyncWaits(tasks: Pick<TaskService, 'awaitEnd' | 'cancelLeft'>): SyncWaits {
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
      if (countClient(taskId, -1) === 0 && response.closed) {
        tasks.cancelLeft(taskId, () => clients.has(taskId))
      }
    }
    return undefined
  }

  return { wait }
}
