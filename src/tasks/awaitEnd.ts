import type { Pool } from 'pg'
import type { TaskView } from '../domain/tasks/task.ts'
import { readTask } from '../store/tasks/readTask.ts'
import { retryFor } from './timeLimits.ts'
import type { TaskWatches } from './watchTasks.ts'

export type AwaitEndDeps = { readonly pool: Pool; readonly watches: Pick<TaskWatches, 'watch'> }

/**
 * Waits until a task has ended or the signal aborts. Returns the task as it is at that moment, or `missing` when the
 * task has no row because it is purged. A message only causes a new read, because only the task's row says whether the
 * task has ended.
 *
 * A task that this process has just accepted (`isNew`) is not read before the first message, because such a read would
 * find a task that has not ended.
 */
export async function awaitEnd(
  { pool, watches }: AwaitEndDeps,
  taskId: string,
  signal: AbortSignal,
  { isNew = false }: { readonly isNew?: boolean } = {},
): Promise<TaskView | 'missing'> {
  const watch = watches.watch(taskId)
  try {
    if (isNew) await watch.next(signal, 'live')
    for (;;) {
      const view = await readWatched(pool, taskId, signal)
      if (view === undefined) return 'missing'
      if (view.completedAtMs !== undefined || signal.aborted) return view
      await watch.next(signal, 'live')
    }
  } finally {
    watch.stop()
  }
}

/**
 * Reads a watched task, again and again while PostgreSQL does not answer. Once the signal has aborted, throws the error
 * of the read.
 */
export function readWatched(
  pool: Pool,
  taskId: string,
  signal: AbortSignal,
): Promise<TaskView | undefined> {
  return retryFor(Infinity, () => readTask(pool, taskId), signal)
}
