import type { Pool } from 'pg'
import type { TaskStore } from '../domain/taskStore.ts'
import { findCaller } from './findCaller.ts'
import { findKeyedTask } from './findKeyedTask.ts'
import { freeKey } from './freeKey.ts'
import { insertTask } from './insertTask.ts'
import { readNativeRefusal } from './readNativeRefusal.ts'
import { readTask, readTaskOfImage } from './readTask.ts'
import { discardUpload, openUpload } from './uploads.ts'

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
