import type { ServerResponse } from 'node:http'
import type { TaskView } from '../domain/taskState.ts'
import type { TaskService } from '../tasks/taskService.ts'

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
