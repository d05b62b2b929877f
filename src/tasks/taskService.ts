import type { Caller } from '../domain/account.ts'
import type { RequestFailure } from '../domain/failure.ts'
import { newUploadId } from '../domain/ids.ts'
import type { ImageRequest } from '../domain/imageRequest.ts'
import type { JsonObject } from '../domain/json.ts'
import { uploadGraceMs } from '../domain/limits.ts'
import type { NativeResponse } from '../domain/nativeResponse.ts'
import type { AttemptStore } from '../domain/ports/attemptStore.ts'
import type { BlobStore } from '../domain/ports/blobStore.ts'
import type { TaskEnds, TaskStore } from '../domain/ports/taskStore.ts'
import type { Result } from '../domain/result.ts'
import { fail, succeed } from '../domain/result.ts'
import type { LiveStatus, TaskView } from '../domain/task.ts'
import type { AcceptTaskDeps } from './acceptTask.ts'
import { createAcceptTask } from './acceptTask.ts'
import type { Pepper } from './apiKeys.ts'
import { createAuthenticate } from './apiKeys.ts'
import { createAwaitEnd } from './awaitEnd.ts'
import { readAnswerMeta } from './storedAnswer.ts'

/** What this request's client calls the two fields that a model's capabilities may forbid. */
export type ParamNames = { readonly size: string; readonly aspectRatio: string }

export type AcceptInput = {
  readonly caller: Caller
  readonly request: ImageRequest
  /** The upload that holds the request's inputs, from `openUpload`; absent without images. */
  readonly uploadId?: string
  /** The Idempotency-Key as sent: 1 to 255 bytes. */
  readonly idempotencyKey?: Uint8Array
  /** Default `size` and `aspect_ratio`; v1beta names its own paths, in the client's casing. */
  readonly paramNames?: ParamNames
}

export type Accepted = {
  readonly taskId: string
  readonly createdAtMs: number
  /** The key named an existing task with the same request. */
  readonly replayed: boolean
}

/**
 * What Darkroom does for its HTTP callers. One implementation of each, whoever calls: five routes share
 * `accept`, both lookup paths share `read`.
 */
export type TaskService = {
  /** The caller of a bearer secret; `undefined` for unknown, malformed, expired and revoked keys alike. */
  readonly authenticate: (secret: string) => Promise<Caller | undefined>
  /** Records a place for inputs before the first byte is written; the id is the blob key prefix. */
  readonly openUpload: () => Promise<string>
  /** Gives a staged upload up: swept within seconds. A no-op once a task has taken it. */
  readonly discardUpload: (uploadId: string) => Promise<void>
  /** Replay and conflict are decided before access, capabilities and balance (design section 4). */
  readonly accept: (input: AcceptInput) => Promise<Result<Accepted, RequestFailure>>
  /** The caller's own task; a stranger's and an unknown one are the same `task_not_found`. */
  readonly read: (caller: Caller, taskId: string) => Promise<Result<TaskView, RequestFailure>>
  /** What the workflow adds to a task in flight; `undefined` whenever Temporal cannot tell in 250 ms. */
  readonly live: (taskId: string) => Promise<LiveStatus | undefined>
  /**
   * Waits for the end of a task, at most until `signal` aborts: then the view as it stands, not ended.
   * Woken by PostgreSQL's NOTIFY, with a slow poll behind it.
   */
  readonly awaitEnd: (taskId: string, signal: AbortSignal) => Promise<TaskView>
  /** One compare-and-set: false when a call is under way or may have done work (design 1.11). */
  readonly cancel: (taskId: string) => Promise<boolean>
  /** The native response around the image of a succeeded task, while that is kept. */
  readonly native: (task: TaskView) => Promise<NativeResponse | undefined>
  /** Family A: the model's own refusal (a native 200), for synchronous v1beta callers. */
  readonly nativeRefusal: (taskId: string) => Promise<JsonObject | undefined>
}

type TaskServiceDeps = Omit<AcceptTaskDeps, 'store'> & {
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
