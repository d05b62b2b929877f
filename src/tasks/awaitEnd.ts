import { setTimeout as sleep } from 'node:timers/promises'
import type { TaskEnds, TaskStore } from '../domain/ports/taskStore.ts'
import type { TaskView } from '../domain/task.ts'

type AwaitEndDeps = {
  readonly store: Pick<TaskStore, 'readTask'>
  readonly ends: Pick<TaskEnds, 'watch'>
}

const readRetryMs = 500

/**
 * Waits until a task has ended or the signal aborts, and returns the task as it is then. A notification
 * only causes a new read: the row decides. A failed read is repeated, because the task exists even
 * while PostgreSQL does not answer. A read that fails after the signal aborted is thrown.
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
