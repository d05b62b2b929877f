import type { AcceptTaskDeps } from './acceptTask.ts'
import { createAcceptTask } from './acceptTask.ts'
import type { Pepper } from './apiKeys.ts'
import { createAuthenticate } from './apiKeys.ts'
import { createAwaitEnd } from './awaitEnd.ts'
import type { CancelTaskDeps } from './cancelTask.ts'
import { createCancelLeft, createCancelTask } from './cancelTask.ts'
import { createFollowTask } from './followTask.ts'
import type { Caller } from '../domain/accounts/account.ts'
import type { RequestFailure } from '../domain/failure.ts'
import { newUploadId } from '../domain/ids.ts'
import { uploadGraceMs } from '../domain/limits.ts'
import type { TaskEnds } from '../store/tasks/taskEnds.ts'
import type { TaskStore } from '../store/tasks/taskStore.ts'
import type { Result } from '../domain/result.ts'
import { fail, succeed } from '../domain/result.ts'
import type { RunStage, TaskView } from '../domain/tasks/task.ts'

type TaskServiceDeps = Omit<AcceptTaskDeps, 'store'> &
  CancelTaskDeps & {
    readonly store: TaskStore
    readonly ends: TaskEnds
    readonly peppers: readonly Pepper[]
    readonly runStage: (taskId: string) => Promise<RunStage | undefined>
  }

/** What Darkroom does for its HTTP callers. All routes share these functions. */
export type TaskService = Readonly<ReturnType<typeof createTaskService>>

/** Creates the functions that the routes share. */
export function createTaskService(deps: TaskServiceDeps) {
  const { store, randomBytes, runStage } = deps
  return {
    authenticate: createAuthenticate(deps),
    /** Records an upload before its first byte is written. Returns the prefix of its blob keys. */
    openUpload: async () => {
      const uploadId = newUploadId(randomBytes, 'input')
      await store.openUpload(uploadId, uploadGraceMs)
      return uploadId
    },
    /** Makes an upload due for the sweep. Changes nothing if a task has taken the upload over. */
    discardUpload: store.discardUpload,
    accept: createAcceptTask(deps),
    /** Returns a task of this caller. A task of another account is not found, as if it did not exist. */
    read: async (caller: Caller, taskId: string): Promise<Result<TaskView, RequestFailure>> => {
      const view = await store.readTask(taskId, caller.accountId)
      return view === undefined ? fail({ tag: 'task_not_found' }) : succeed(view)
    },
    /**
     * Returns what the workflow of a live task did at most about two seconds ago. Returns `undefined` when Temporal
     * knows no more than PostgreSQL, does not answer in 250 ms, or has too many such questions under way. See
     * `readRunStage.ts`.
     */
    runStage,
    cancel: createCancelTask(deps),
    awaitEnd: createAwaitEnd(deps),
    follow: createFollowTask(deps),
    cancelLeft: createCancelLeft(deps),
  }
}
