import type { TaskView } from '../domain/tasks/task.ts'
import type { TaskEnds } from '../store/tasks/taskEnds.ts'
import type { TaskStore } from '../store/tasks/taskStore.ts'
import { retryFor } from './timeLimits.ts'

export type AwaitEndDeps = {
  readonly store: Pick<TaskStore, 'readTask'>
  readonly ends: Pick<TaskEnds, 'watch'>
}

/**
 * Creates the function that waits until a task has ended or the signal aborts. The function returns the task as it is
 * at that moment, or `missing` when the task has no row because it is purged. A message only causes a new read, because
 * only the task's row says whether the task has ended.
 *
 * A task that this process has just accepted (`isNew`) is not read before the first message, because such a read would
 * find a task that has not ended.
 */
export function createAwaitEnd({ store, ends }: AwaitEndDeps) {
  return async (
    taskId: string,
    signal: AbortSignal,
    { isNew = false }: { readonly isNew?: boolean } = {},
  ): Promise<TaskView | 'missing'> => {
    const watch = ends.watch(taskId)
    try {
      if (isNew) await watch.next(signal)
      for (;;) {
        const view = await readWatched(store, taskId, signal)
        if (view === undefined) return 'missing'
        if (view.completedAtMs !== undefined || signal.aborted) return view
        await watch.next(signal)
      }
    } finally {
      watch.stop()
    }
  }
}

/**
 * Reads a watched task, again and again while PostgreSQL does not answer. Once the signal has aborted, throws the error
 * of the read.
 */
export function readWatched(
  { readTask }: AwaitEndDeps['store'],
  taskId: string,
  signal: AbortSignal,
): Promise<TaskView | undefined> {
  return retryFor(Infinity, () => readTask(taskId), signal)
}
