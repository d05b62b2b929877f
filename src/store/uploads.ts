import type { Pool } from 'pg'
import { runStatement } from './connection/transaction.ts'

/**
 * Records an upload for inputs, before their first byte is written to the blob store. The sweep deletes the
 * upload after `sweepAfterMs`, unless a task has taken it over.
 */
export async function openUpload(
  pool: Pool,
  uploadId: string,
  sweepAfterMs: number,
): Promise<void> {
  await runStatement(pool, {
    name: 'open-upload',
    text: `insert into upload (upload_id, kind, sweep_after)
      values ($1, 'input', now() + $2::float8 * interval '1 millisecond')`,
    values: [uploadId, sweepAfterMs],
  })
}

/** Makes an upload due for the sweep, which deletes it. Does nothing when a task has taken the upload over. */
export async function discardUpload(pool: Pool, uploadId: string): Promise<void> {
  await pool.query({
    name: 'discard-upload',
    text: 'update upload set sweep_after = now() where upload_id = $1 and task_id is null',
    values: [uploadId],
  })
}

/**
 * Takes uploads that are due for deletion, longest overdue first, and returns their ids. A task can take over only an
 * upload with `sweep_after > now()`, so no task can take over an upload that was returned here. This is why the sweep
 * does not delete the blobs of a task.
 *
 * The process may die before it has deleted the blobs, or the blob store may fail. The row of the upload then stays,
 * and the upload is due again after `retryMs`. In the meantime other uploads can be deleted.
 */
export async function takeUploads(
  pool: Pool,
  limit: number,
  retryMs: number,
): Promise<readonly string[]> {
  const { rows } = await pool.query<{ uploadId: string }>({
    text: `with due as materialized (
        select upload_id as due_id from upload where coalesce(next_try_at, sweep_after) <= now()
        order by coalesce(next_try_at, sweep_after) limit $1 for update skip locked
      )
      update upload set sweep_after = '-infinity',
        next_try_at = now() + $2::float8 * interval '1 millisecond'
      from due where upload_id = due_id
      returning upload_id as "uploadId"`,
    values: [limit, retryMs],
  })
  return rows.map(({ uploadId }) => uploadId)
}

/** Returns whether an upload is there and not taken, so that the blobs under its prefix will be deleted later. */
export async function isUploadKept(pool: Pool, uploadId: string): Promise<boolean> {
  const { rows } = await pool.query({
    name: 'is-upload-kept',
    text: `select from upload where upload_id = $1 and sweep_after > '-infinity'`,
    values: [uploadId],
  })
  return rows.length > 0
}

/**
 * Deletes the rows of taken uploads after their blobs are deleted. If an upload contained a published answer,
 * also deletes the native response in the task's row.
 */
export async function forgetUploads(pool: Pool, uploadIds: readonly string[]): Promise<void> {
  // The tasks are updated before the uploads and in a statement of their own, because transactions that lock a task
  // and its uploads lock the task first.
  await pool.query({
    name: 'forget-native-responses',
    text: `update task set native_response = null from upload
      where upload.upload_id = any($1) and upload.sweep_after = '-infinity'
        and task.task_id = upload.task_id and task.answer_id = upload.upload_id
        and task.native_response is not null`,
    values: [uploadIds],
  })
  await pool.query({
    name: 'forget-uploads',
    text: `delete from upload where upload_id = any($1) and sweep_after = '-infinity'`,
    values: [uploadIds],
  })
}
