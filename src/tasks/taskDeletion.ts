import type { Pool } from 'pg'
import type { Caller } from '../domain/accounts/account.ts'
import { assertNever } from '../domain/assertNever.ts'
import type { RequestFailure } from '../domain/failure.ts'
import type { BlobStore } from '../domain/ports/blobStore.ts'
import type { Result } from '../domain/result.ts'
import { fail, succeed } from '../domain/result.ts'
import type { TaskView } from '../domain/tasks/task.ts'
import { withTimeout } from '../domain/withTimeout.ts'
import { withTransaction } from '../store/connection/transaction.ts'
import { expireTask } from '../store/tasks/expireTask.ts'
import { readTask } from '../store/tasks/readTask.ts'
import { forgetUploads } from '../store/uploads.ts'
import { inParallel } from './inParallel.ts'

export type DeleteDeps = {
  readonly pool: Pool
  readonly blobs: Pick<BlobStore, 'deletePrefix'>
}

/**
 * Deletes what is kept of an ended task because its owner asks for it, and returns the task. From the commit on, nothing
 * of it is served. It is read again only when the blob store has confirmed that its bytes are gone. Throws when the store
 * does not: then the owner may ask again, and the sweep does the same after a minute. A task of another account is
 * `task_not_found`, as if it did not exist.
 */
export async function deleteOwnTask(
  deps: DeleteDeps,
  { accountId }: Caller,
  taskId: string,
): Promise<Result<TaskView, RequestFailure>> {
  const expired = await withTransaction(deps.pool, (client) =>
    expireTask(client, taskId, accountId),
  )
  switch (expired.kind) {
    case 'live':
      return fail({ tag: 'task_not_finished' })
    case 'missing':
      return fail({ tag: 'task_not_found' })
    case 'expired': {
      await deleteUploads(deps, expired.uploadIds)
      const task = await readTask(deps.pool, taskId, accountId)
      return task === undefined ? fail({ tag: 'task_not_found' }) : succeed(task)
    }
    default:
      return assertNever(expired)
  }
}

const deleteMsMax = 20_000
const parallel = 8

/**
 * Deletes the blobs of uploads that `expireTask` has taken, and then their rows. A task has an upload for each of its
 * attempts. Throws when the blob store fails, or has not confirmed all in time.
 */
export async function deleteUploads(
  { pool, blobs }: DeleteDeps,
  uploadIds: readonly string[],
): Promise<void> {
  await withTimeout(deleteMsMax, () =>
    inParallel(uploadIds, { parallel }, (uploadId) => blobs.deletePrefix(uploadId)),
  )
  await forgetUploads(pool, uploadIds)
}
