import type { AcceptInput, Accepted, AcceptTaskDeps } from './acceptTask.ts'
import { createAcceptTask } from './acceptTask.ts'
import type { Pepper } from './apiKeys.ts'
import { createAuthenticate } from './apiKeys.ts'
import { createAwaitEnd } from './awaitEnd.ts'
import type { LeftTasks } from './cancelLeft.ts'
import type { Caller } from '../domain/accounts/account.ts'
import type { RequestFailure } from '../domain/failure.ts'
import { newUploadId } from '../domain/ids.ts'
import type { JsonObject } from '../domain/json.ts'
import { uploadGraceMs } from '../domain/limits.ts'
import type { TaskEnds, TaskStore } from '../domain/ports/taskStore.ts'
import type { Result } from '../domain/result.ts'
import { fail, succeed } from '../domain/result.ts'
import type { LiveStatus, TaskView } from '../domain/tasks/task.ts'
import { publicStatus } from '../domain/tasks/taskRecord.ts'
import type { NativeResponse } from '../domain/upstream/nativeResponse.ts'

/** What Darkroom does for its HTTP callers. All routes share these functions. */
export type TaskService = {
  /** The caller of a bearer secret; `undefined` for unknown, malformed, expired and revoked keys. */
  readonly authenticate: (secret: string) => Promise<Caller | undefined>
  /** Records an upload before the first byte is written. Returns the prefix of its blob keys. */
  readonly openUpload: () => Promise<string>
  /** Marks an upload for the next sweep. Changes nothing once a task has taken the upload. */
  readonly discardUpload: (uploadId: string) => Promise<void>
  readonly accept: (input: AcceptInput) => Promise<Result<Accepted, RequestFailure>>
  /** A task of this caller. The task of another account is `task_not_found`, as if it did not exist. */
  readonly read: (caller: Caller, taskId: string) => Promise<Result<TaskView, RequestFailure>>
  /** What the workflow adds to a task in flight; `undefined` when Temporal does not answer in 250 ms. */
  readonly live: (taskId: string) => Promise<LiveStatus | undefined>
  /** Waits until the task has ended or the signal aborts, and returns the task as it is then. */
  readonly awaitEnd: (taskId: string, signal: AbortSignal) => Promise<TaskView>
  /** Cancels a task whose last client has left, behind the request. See `cancelLeft.ts`. */
  readonly cancelLeft: LeftTasks['cancelLeft']
  /** The native response of a succeeded task, without its image bytes. `undefined` once it expired. */
  readonly native: (task: TaskView) => Promise<NativeResponse | undefined>
  /** Family A: the model's own refusal (a native 200), for synchronous v1beta callers. */
  readonly nativeRefusal: (taskId: string) => Promise<JsonObject | undefined>
}

type TaskServiceDeps = Omit<AcceptTaskDeps, 'store'> & {
  readonly store: TaskStore
  readonly cancelLeft: LeftTasks['cancelLeft']
  readonly ends: TaskEnds
  readonly peppers: readonly Pepper[]
  readonly live: TaskService['live']
}

/** Builds the service from its parts. */
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
    live: deps.live,
    awaitEnd: createAwaitEnd(deps),
    cancelLeft: deps.cancelLeft,
    native: async (task) => (publicStatus(task) === 'succeeded' ? task.native : undefined),
    nativeRefusal: store.readNativeRefusal,
  }
}
