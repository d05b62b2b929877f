import type { TaskEnds, TaskStore } from '../domain/taskStore.ts'
import type { TaskView } from '../domain/taskState.ts'

export type AwaitEndDeps = {
  readonly store: Pick<TaskStore, 'readTask'>
  readonly ends: Pick<TaskEnds, 'watch'>
}

/** Waits for a task's end, or for the signal: then the view as it stands. The row decides, not the wake. */
export function createAwaitEnd(deps: AwaitEndDeps) {
  return async (taskId: string, signal: AbortSignal): Promise<TaskView> => {
    const watch = deps.ends.watch(taskId)
    try {
      for (;;) {
        const view = await deps.store.readTask(taskId)
        if (view === undefined) throw new Error(`Bug: ${taskId} is awaited and does not exist`)
        if (view.completedAtMs !== undefined || signal.aborted) return view
        await watch.next(signal)
      }
    } finally {
      watch.stop()
    }
  }
}
