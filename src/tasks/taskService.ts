import type { AcceptInput, AcceptTaskDeps } from './acceptTask.ts'
import { acceptTask, answerWithoutTask } from './acceptTask.ts'
import type { Pepper } from './keySecrets.ts'
import { authenticate } from './keySecrets.ts'
import { awaitEnd } from './awaitEnd.ts'
import type { ClientCancelDeps } from './clientCancels.ts'
import { cancelLeftTask, cancelOwnTask } from './clientCancels.ts'
import type { DeleteDeps } from './taskDeletion.ts'
import { deleteOwnTask } from './taskDeletion.ts'
import { estimateTask } from './estimateTask.ts'
import { followTask } from './followTask.ts'
import { createRefusedModels } from './refusedModels.ts'
import type { TaskWatches } from './watchTasks.ts'
import type { Caller } from '../domain/accounts/account.ts'
import type { RequestFailure } from '../domain/failure.ts'
import { uploadGraceMs } from '../domain/limits.ts'
import type { Result } from '../domain/result.ts'
import { fail, succeed } from '../domain/result.ts'
import type { RunStage, TaskView } from '../domain/tasks/task.ts'
import { discardUpload, openUpload } from '../store/uploads.ts'
import { readTask } from '../store/tasks/readTask.ts'

type TaskServiceDeps = Omit<AcceptTaskDeps, 'refusedModels'> &
  ClientCancelDeps &
  DeleteDeps & {
    readonly watches: TaskWatches
    readonly peppers: readonly Pepper[]
    readonly runStage: (taskId: string) => Promise<RunStage | undefined>
  }

/** What Darkroom does for its HTTP callers. All routes share these functions. */
export type TaskService = Readonly<ReturnType<typeof createTaskService>>

/** Creates the functions that the routes share. */
export function createTaskService(given: TaskServiceDeps) {
  const deps = { ...given, refusedModels: createRefusedModels(given) }
  const { pool, runStage } = deps
  return {
    authenticate: (secret: string) => authenticate(pool, deps.peppers, secret),
    /** Records an upload before its first byte is written. Its id is the prefix of its blob keys. */
    openUpload: (uploadId: string) => openUpload(pool, uploadId, uploadGraceMs),
    /** Makes an upload due for the sweep. Changes nothing if a task has taken the upload over. */
    discardUpload: (uploadId: string) => discardUpload(pool, uploadId),
    accept: (input: AcceptInput) => acceptTask(deps, input),
    answerWithoutTask: (input: AcceptInput) => answerWithoutTask(deps, input),
    estimate: (asked: Parameters<typeof estimateTask>[1]) => estimateTask(deps, asked),
    noteRefusal: deps.refusedModels.note,
    /** Returns a task of this caller. A task of another account is not found, as if it did not exist. */
    read: async (caller: Caller, taskId: string): Promise<Result<TaskView, RequestFailure>> => {
      const view = await readTask(pool, taskId, caller.accountId)
      return view === undefined ? fail({ tag: 'task_not_found' }) : succeed(view)
    },
    /**
     * Returns what the workflow of a live task did a few seconds ago. Returns `undefined` when Temporal
     * knows no more than PostgreSQL, does not answer in 250 ms, or has too many such questions under way. See
     * `readRunStage.ts`.
     */
    runStage,
    cancel: (caller: Caller, taskId: string) => cancelOwnTask(deps, caller, taskId),
    /** Deletes what is kept of an ended task of this caller. Throws when the blob store does not confirm it. */
    delete: (caller: Caller, taskId: string) => deleteOwnTask(deps, caller, taskId),
    awaitEnd: (taskId: string, signal: AbortSignal, options?: { readonly isNew?: boolean }) =>
      awaitEnd(deps, taskId, signal, options),
    follow: (taskId: string, signal: AbortSignal, lastId?: number) =>
      followTask(deps, taskId, signal, lastId),
    cancelLeft: (taskId: string, isAwaited: () => boolean) =>
      cancelLeftTask(deps, taskId, isAwaited),
  }
}
