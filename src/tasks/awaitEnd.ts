import { setTimeout as sleep } from 'node:timers/promises'
import type { TaskEnds } from '../domain/ports/taskStore.ts'
import type { TaskStore } from '../store/tasks/taskStore.ts'
import type { TaskView } from '../domain/tasks/task.ts'

export type AwaitEndDeps = {
  readonly store: Pick<TaskStore, 'readTask'>
  readonly ends: Pick<TaskEnds, 'watch'>
}

const readRetryMs = 500

/**
 * Creates the function that waits until a task has ended or the signal aborts. The function returns the task as it is
 * at that moment, or `missing` when the task has no row: it is purged, or a crash of PostgreSQL has lost it
 * (`insertTask.ts` says when). A notification only causes a new read, because only the task's row says whether the
 * task has ended. If PostgreSQL does not answer, the read is tried again. Once the signal has aborted, the error of a
 * failed read is thrown.
 *
 * A task that this process has just accepted (`isNew`) is not read before the first notification, because such a read
 * would find a task that has not ended.
 */
export function createAwaitEnd(deps: AwaitEndDeps) {
  const read = createWatchedRead(deps.store)
  return async (
    taskId: string,
    signal: AbortSignal,
    { isNew = false }: { readonly isNew?: boolean } = {},
  ): Promise<TaskView | 'missing'> => {
    const watch = deps.ends.watch(taskId, 'end')
    try {
      if (isNew) await watch.next(signal)
      for (;;) {
        const view = await read(taskId, signal)
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
 * Creates the function that reads a watched task, again and again while PostgreSQL does not answer. Once the signal
 * has aborted, it throws the error of the read.
 *
 * Callers that are woken by the same notification share one read. They share it only until the present callback of
 * the event loop ends: a read that began before a caller's watch may miss a change that the watch would have
 * reported.
 */
export function createWatchedRead({ readTask }: Pick<TaskStore, 'readTask'>) {
  const begun = new Map<string, Promise<TaskView | undefined>>()

  function readShared(taskId: string): Promise<TaskView | undefined> {
    const shared = begun.get(taskId)
    if (shared !== undefined) return shared
    const reading = readTask(taskId)
    begun.set(taskId, reading)
    process.nextTick(() => begun.delete(taskId))
    return reading
  }

  return async (taskId: string, signal: AbortSignal): Promise<TaskView | undefined> => {
    for (;;) {
      try {
        return await readShared(taskId)
      } catch (error) {
        if (signal.aborted) throw error
      }
      await sleep(readRetryMs, undefined, { signal }).catch(() => {})
    }
  }
}
