import type { Pool } from 'pg'
import type { TaskStore } from '../domain/ports/taskStore.ts'
import { findCaller } from './accounts/apiKeys.ts'
import { findKeyedTask, freeKey, insertTask } from './tasks/insertTask.ts'
import { readNativeRefusal, readTask, readTaskOfImage } from './tasks/readTask.ts'
import { discardUpload, openUpload } from './reconcile/uploads.ts'

/** What acceptance and lookup need, over one pool. */
export function createTaskStore(pool: Pool): TaskStore {
  return {
    findCaller: (secretHashes) => findCaller(pool, secretHashes),
    findKeyedTask: (accountId, keyDigest) => findKeyedTask(pool, accountId, keyDigest),
    freeKey: (accountId, keyDigest) => freeKey(pool, accountId, keyDigest),
    insertTask: (task) => insertTask(pool, task),
    readTask: (taskId, accountId) => readTask(pool, taskId, accountId),
    readTaskOfImage: (taskId) => readTaskOfImage(pool, taskId),
    readNativeRefusal: (taskId) => readNativeRefusal(pool, taskId),
    openUpload: (uploadId, sweepAfterMs) => openUpload(pool, uploadId, sweepAfterMs),
    discardUpload: (uploadId) => discardUpload(pool, uploadId),
  }
}
