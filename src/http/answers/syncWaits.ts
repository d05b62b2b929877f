import type { ServerResponse } from 'node:http'
import type { TaskView } from '../../domain/tasks/task.ts'
import type { Accepted } from '../../tasks/acceptTask.ts'
import type { TaskService } from '../../tasks/taskService.ts'

/** The synchronous calls of this API process that wait for the end of a task. */
export type SyncWaits = ReturnType<typeof createSyncWaits>

/**
 * Counts the clients that wait for each task. A client whose connection broke often sends its request again
 * with the same key. The second connection then joins the task before Darkroom notices that the first one is
 * dead, and the task must not be cancelled. The count leaves out clients of other API processes, and a client
 * that joins during the cancellation. These are answered with a 500 that may be repeated.
 */
export function createSyncWaits(tasks: Pick<TaskService, 'awaitEnd' | 'cancelLeft'>) {
  const clients = new Map<string, number>()

  function countClient(taskId: string, change: 1 | -1): number {
    const count = (clients.get(taskId) ?? 0) + change
    if (count === 0) clients.delete(taskId)
    else clients.set(taskId, count)
    return count
  }

  /**
   * Returns the task when it ends. After `waitMs`, returns the task as it is then. Returns `client_left` when
   * the client has left. If no other client of this process waits for the task, the task is then cancelled,
   * unless a call may have done work. Returns `missing` when the task has no row: see `awaitEnd.ts`.
   */
  async function wait(
    { taskId, replayed }: Pick<Accepted, 'taskId' | 'replayed'>,
    response: ServerResponse,
    waitMs: number,
  ): Promise<TaskView | 'missing' | 'client_left'> {
    const stop = new AbortController()
    const onStop = () => stop.abort()
    const timer = setTimeout(onStop, waitMs)
    countClient(taskId, 1)
    // The whole request has been read. After that, only the response reports that its client has left.
    response.once('close', onStop)
    if (response.closed) onStop()
    try {
      const task = await tasks.awaitEnd(taskId, stop.signal, { isNew: !replayed })
      return response.closed ? 'client_left' : task
    } finally {
      clearTimeout(timer)
      response.off('close', onStop)
      if (countClient(taskId, -1) === 0 && response.closed) {
        tasks.cancelLeft(taskId, () => clients.has(taskId))
      }
    }
  }

  return { wait }
}
