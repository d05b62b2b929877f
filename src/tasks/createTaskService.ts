import type { AttemptStore } from '../domain/attemptStore.ts'
import type { BlobStore } from '../domain/blobStore.ts'
import { newUploadId } from '../domain/ids.ts'
import { uploadGraceMs } from '../domain/limits.ts'
import { fail, succeed } from '../domain/result.ts'
import type { TaskEnds, TaskStore } from '../domain/taskStore.ts'
import type { AcceptTaskDeps } from './acceptTask.ts'
import { createAcceptTask } from './acceptTask.ts'
import { createAuthenticate } from './authenticate.ts'
import { createAwaitEnd } from './awaitEnd.ts'
import { readAnswerMeta } from './readAnswerMeta.ts'
import type { Pepper } from './secretHash.ts'
import type { TaskService } from './taskService.ts'

export type TaskServiceDeps = Omit<AcceptTaskDeps, 'store'> & {
  readonly store: TaskStore
  readonly attempts: Pick<AttemptStore, 'cancelTask'>
  readonly ends: TaskEnds
  readonly blobs: BlobStore
  readonly peppers: readonly Pepper[]
  /** From Temporal, bounded in time; never throws. */
  readonly live: TaskService['live']
}

/** What Darkroom does for its HTTP callers, put together from its parts. */
export function createTaskService(deps: TaskServiceDeps): TaskService {
  const { store, blobs } = deps
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
    cancel: deps.attempts.cancelTask,
    native: async ({ native, asset, expiresAtMs, nowMs }) => {
      if (asset === undefined || expiresAtMs === undefined || expiresAtMs <= nowMs) return undefined
      if (native !== undefined) return native
      // Published by the version before, which kept it in the blob store alone.
      const meta = await readAnswerMeta(blobs, asset.answerId)
      return meta?.native
    },
    nativeRefusal: store.readNativeRefusal,
  }
}
