import type { Pool } from 'pg'

/**
 * Deletes the rows of taken uploads, after their blobs: a row outlives what it points to. With the bytes of
 * a published answer goes what the model said around them.
 */
export function createForgetUploads(deps: { readonly pool: Pool }) {
  return async (uploadIds: readonly string[]): Promise<void> => {
    // The task first, and apart: whoever locks both, locks the task before its uploads.
    await deps.pool.query({
      name: 'forget-native-responses',
      text: `update task set native_response = null from upload
        where upload.upload_id = any($1) and upload.sweep_after = '-infinity'
          and task.task_id = upload.task_id and task.answer_id = upload.upload_id
          and task.native_response is not null`,
      values: [uploadIds],
    })
    await deps.pool.query({
      name: 'forget-uploads',
      text: `delete from upload where upload_id = any($1) and sweep_after = '-infinity'`,
      values: [uploadIds],
    })
  }
}
