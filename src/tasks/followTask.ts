import type { AwaitEndDeps } from './awaitEnd.ts'
import { readWatched } from './awaitEnd.ts'
import type { ModelTable } from '../domain/models/modelTable.ts'
import { usualDurationMs } from '../domain/models/modelTable.ts'
import type { TaskView } from '../domain/tasks/task.ts'
import { atFirstCall, endEventId, isEventDue, taskEventId } from '../domain/tasks/taskEvents.ts'

/** How often the progress is computed again. */
const progressMs = 500

/** One event of a task, with the task as it is at that moment. */
export type TaskEvent = { readonly id: number; readonly task: TaskView }

/**
 * Follows a task: yields the task as it is now, then at every change of its status, and whenever its progress has grown
 * by 5 or more. Stops after the event of the task's end, when the signal aborts, and when the task is purged. `lastId` is
 * the last event that the reader has seen on an earlier connection. Events up to `lastId` are left out.
 *
 * The progress is computed from the task's row and the time, so no query is needed while only the progress changes.
 */
export async function* followTask(
  deps: AwaitEndDeps & { readonly models: ModelTable },
  taskId: string,
  signal: AbortSignal,
  lastId?: number,
): AsyncGenerator<TaskEvent, void, undefined> {
  const watch = deps.watches.watch(taskId)
  try {
    let row = await readWatched(deps.pool, taskId, signal)
    let readAtMs = performance.now()
    let seenId = lastId
    while (row !== undefined) {
      const task = { ...row, nowMs: row.nowMs + performance.now() - readAtMs }
      const usualMs = usualDurationMs(deps.models, task.model)
      const id = taskEventId(task, usualMs)
      // The reader claims to have seen the end of the task, but the task has not ended. So `lastId` is wrong and is
      // ignored.
      if (seenId === endEventId && id !== endEventId) seenId = undefined
      // A short call can begin and end between two reads.
      const skipped = seenId === 0 && id === endEventId ? atFirstCall(task) : undefined
      if (skipped !== undefined) {
        yield { id: taskEventId(skipped, usualMs), task: skipped }
      }
      if (isEventDue(seenId, id)) {
        seenId = id
        yield { id, task }
      }
      if (task.completedAtMs !== undefined || signal.aborted) return
      const limitMs = task.status === 'processing' ? progressMs : undefined
      if (await watch.next(signal, task.status, limitMs)) {
        row = await readWatched(deps.pool, taskId, signal)
        readAtMs = performance.now()
      }
    }
  } finally {
    watch.stop()
  }
}
