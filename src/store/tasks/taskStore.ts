import type { Pool } from 'pg'
import { findCaller } from '../accounts/apiKeys.ts'
import { discardUpload, openUpload } from '../reconcile/uploads.ts'
import { findKeyedTask } from './idempotencyKey.ts'
import type { NewTask } from './insertTask.ts'
import { insertTask } from './insertTask.ts'
import { readTask, readTaskOfImage } from './readTask.ts'

/** For the routes that accept, look up and show tasks. */
export function createTaskStore(pool: Pool) {
  return {
    findCaller: (secretHashes: readonly Uint8Array[]) => findCaller(pool, secretHashes),
    findKeyedTask: (accountId: string, keyDigest: Uint8Array) =>
      findKeyedTask(pool, accountId, keyDigest),
    insertTask: (task: NewTask) => insertTask(pool, task),
    readTask: (taskId: string, accountId?: string) => readTask(pool, taskId, accountId),
    readTaskOfImage: (taskId: string) => readTaskOfImage(pool, taskId),
    openUpload: (uploadId: string, sweepAfterMs: number) =>
      openUpload(pool, uploadId, sweepAfterMs),
    discardUpload: (uploadId: string) => discardUpload(pool, uploadId),
  }
}

export type TaskStore = Readonly<ReturnType<typeof createTaskStore>>
