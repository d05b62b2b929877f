import { setTimeout as sleep } from 'node:timers/promises'
import type { TaskEnds, TaskStore } from '../domain/ports/taskStore.ts'
import type { TaskView } from '../domain/tasks/task.ts'

type AwaitEndDeps = {
  readonly store: Pick<TaskStore, 'readTask'>
  readonly ends: Pick<TaskEnds, 'watch'>
}

const readRetryMs = 500

/**
 * Creates the function that waits until a task has ended or the signal aborts. The function returns the task
 * as it is at that moment. A notification only causes a new read, because only the task's row says whether
 * the task has ended. If PostgreSQL does not answer, the read is tried again. Once the signal has aborted,
 * the error of a failed read is thrown.
 */
export function createAwaitEnd(deps: AwaitEndDeps) {
  return async (taskId: string, signal: AbortSignal): Promise<TaskView> => {
    const watch = deps.ends.watch(taskId)
    try {
      for (;;) {
        const view = await readWithRetries(deps, taskId, signal)
        if (view === undefined) throw new Error(`Bug: ${taskId} is awaited and does not exist`)
        if (view.completedAtMs !== undefined || signal.aborted) return view
        await watch.next(signal)
      }
    } finally {
      watch.stop()
    }
  }
}

async function readWithRetries(
  { store }: AwaitEndDeps,
  taskId: string,
  signal: AbortSignal,
): Promise<TaskView | undefined> {
  for (;;) {
    try {
      return await store.readTask(taskId)
    } catch (error) {
      if (signal.aborted) throw error
    }
    await sleep(readRetryMs, undefined, { signal }).catch(() => {})
  }
}
