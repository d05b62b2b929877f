import type { AcceptInput, Accepted, AcceptTaskDeps } from './acceptTask.ts'
import { createAcceptTask } from './acceptTask.ts'
import type { Pepper } from './apiKeys.ts'
import { createAuthenticate } from './apiKeys.ts'
import { createAwaitEnd } from './awaitEnd.ts'
import type { CancelTaskDeps, LeftTasks } from './cancelTask.ts'
import { createCancelTask } from './cancelTask.ts'
import type { TaskEvent } from './followTask.ts'
import { createFollowTask } from './followTask.ts'
import type { Caller } from '../domain/accounts/account.ts'
import type { RequestFailure } from '../domain/failure.ts'
import { newUploadId } from '../domain/ids.ts'
import type { JsonObject } from '../domain/json.ts'
import { uploadGraceMs } from '../domain/limits.ts'
import type { TaskEnds, TaskStore } from '../domain/ports/taskStore.ts'
import type { Result } from '../domain/result.ts'
import { fail, succeed } from '../domain/result.ts'
import type { RunStage, TaskView } from '../domain/tasks/task.ts'

/** What Darkroom does for its HTTP callers. All routes share these functions. */
export type TaskService = {
  /**
   * Returns the caller of a bearer secret. Returns `undefined` for an unknown, malformed, expired or revoked
   * key.
   */
  readonly authenticate: (secret: string) => Promise<Caller | undefined>
  /** Records an upload before its first byte is written. Returns the prefix of its blob keys. */
  readonly openUpload: () => Promise<string>
  /** Makes an upload due for the sweep, which deletes it. Changes nothing if a task has taken the upload over. */
  readonly discardUpload: (uploadId: string) => Promise<void>
  readonly accept: (input: AcceptInput) => Promise<Result<Accepted, RequestFailure>>
  /** Returns a task of this caller. A task of another account is `task_not_found`, as if it did not exist. */
  readonly read: (caller: Caller, taskId: string) => Promise<Result<TaskView, RequestFailure>>
  /**
   * Returns what the workflow of a live task did at most about two seconds ago. Returns `undefined` when Temporal
   * knows no more than PostgreSQL, does not answer in 250 ms, or has too many such questions under way. See
   * `readRunStage.ts`.
   */
  readonly runStage: (taskId: string) => Promise<RunStage | undefined>
  /** Cancels a task of this caller and returns it. See `cancelTask.ts`. */
  readonly cancel: (caller: Caller, taskId: string) => Promise<Result<TaskView, RequestFailure>>
  /**
   * Waits for the end of a task, or until the signal aborts, and returns the task as it is then. Returns
   * `missing` when the task has no row. Any number of callers may wait for one task. See `awaitEnd.ts`.
   */
  readonly awaitEnd: ReturnType<typeof createAwaitEnd>
  /** Yields the task now and at its changes, until it has ended or the signal aborts. See `followTask.ts`. */
  readonly follow: (
    taskId: string,
    signal: AbortSignal,
    lastId?: number,
  ) => AsyncGenerator<TaskEvent, void, undefined>
  /** Cancels a task whose last client has left. Returns before the task is cancelled. See `cancelTask.ts`. */
  readonly cancelLeft: LeftTasks['cancelLeft']
  /**
   * Returns the answer with which a family A model rejected the request (a native 200). Returns `undefined` when the
   * task has none. Used for synchronous v1beta callers.
   */
  readonly nativeRejection: (taskId: string) => Promise<JsonObject | undefined>
}

type TaskServiceDeps = Omit<AcceptTaskDeps, 'store'> &
  CancelTaskDeps & {
    readonly store: TaskStore
    readonly cancelLeft: LeftTasks['cancelLeft']
    readonly ends: TaskEnds
    readonly peppers: readonly Pepper[]
    readonly runStage: TaskService['runStage']
  }

export function createTaskService(deps: TaskServiceDeps): TaskService {
  const { store } = deps
  return {
    authenticate: createAuthenticate(deps),
    openUpload: async () => {
      const uploadId = newUploadId(deps.randomBytes, 'input')
      await store.openUpload(uploadId, uploadGraceMs)
      return uploadId
    },
    discardUpload: store.discardUpload,
    accept: createAcceptTask(deps),
    read: async (caller, taskId) => {
      const view = await store.readTask(taskId, caller.accountId)
      return view === undefined ? fail({ tag: 'task_not_found' }) : succeed(view)
    },
    runStage: deps.runStage,
    cancel: createCancelTask(deps),
    awaitEnd: createAwaitEnd(deps),
    follow: createFollowTask(deps),
    cancelLeft: deps.cancelLeft,
    nativeRejection: store.readNativeRejection,
  }
}
