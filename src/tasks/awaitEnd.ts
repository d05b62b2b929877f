import { setTimeout as sleep } from 'node:timers/promises'
import type { TaskEnds, TaskStore } from '../domain/ports/taskStore.ts'
import type { TaskView } from '../domain/task.ts'

type AwaitEndDeps = {
  readonly store: Pick<TaskStore, 'readTask'>
  readonly ends: Pick<TaskEnds, 'watch'>
}

/** The task exists and goes on, whether or not PostgreSQL answers at this moment. */
const retryMs = 500

/**
 * Waits for a task's end, or for the signal: then the view as it stands. The row decides, not the wake. A
 * read that fails meanwhile (PostgreSQL starts anew) is no end; one that fails after the signal is thrown.
 */
export function createAwaitEnd(deps: AwaitEndDeps) {
  return async (taskId: string, signal: AbortSignal): Promise<TaskView> => {
    const watch = deps.ends.watch(taskId)
    try {
      for (;;) {
        const view = await readPatiently(deps, taskId, signal)
        if (view === undefined) throw new Error(`Bug: ${taskId} is awaited and does not exist`)
        if (view.completedAtMs !== undefined || signal.aborted) return view
        await watch.next(signal)
      }
    } finally {
      watch.stop()
    }
  }
}

async function readPatiently(
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
    await sleep(retryMs, undefined, { signal }).catch(() => {})
  }
}
